// Trees that grow and are cut, and the root of each node: a link-cut tree (Sleator and Tarjan).
//
// Promises: `link`, `cut` and `root` take logarithmic time amortised, however long the chains are that strangers make.
// Nodes are numbers from 0. Each path of preferred children is a splay tree in which a node's ancestors stand to its left.

const none = -1

export class Forest {
  /** Parent in its splay tree; at the top of one, the node that the path hangs from. */
  readonly #up: Int32Array
  readonly #left: Int32Array
  readonly #right: Int32Array

  constructor(size: number) {
    this.#up = new Int32Array(size).fill(none)
    this.#left = new Int32Array(size).fill(none)
    this.#right = new Int32Array(size).fill(none)
  }

  /** Makes a root a child of a node of another tree. */
  link(child: number, parent: number): void {
    this.#access(child)
    this.#up[child] = parent
  }

  /** Takes a node with all below it from its parent. */
  cut(child: number): void {
    this.#access(child)
    const above = this.#left[child] as number
    if (above === none) return
    this.#left[child] = none
    this.#up[above] = none
  }

  root(node: number): number {
    this.#access(node)
    let at = node
    for (let left = this.#left[at] as number; left !== none; left = this.#left[at] as number) at = left
    this.#splay(at)
    return at
  }

  /** Makes the path from the root to `node` one splay tree with `node` on top. */
  #access(node: number): void {
    let last = none
    for (let at = node; at !== none; at = this.#up[at] as number) {
      this.#splay(at)
      this.#right[at] = last
      last = at
    }
    this.#splay(node)
  }

  #splay(node: number): void {
    while (!this.#isTop(node)) {
      const parent = this.#up[node] as number
      if (!this.#isTop(parent)) {
        const above = this.#up[parent] as number
        const alike = (this.#left[parent] === node) === (this.#left[above] === parent)
        this.#rotate(alike ? parent : node)
      }
      this.#rotate(node)
    }
  }

  #isTop(node: number): boolean {
    const up = this.#up[node] as number
    return up === none || (this.#left[up] !== node && this.#right[up] !== node)
  }

  #rotate(node: number): void {
    const parent = this.#up[node] as number
    const above = this.#up[parent] as number
    const parentIsTop = this.#isTop(parent)
    const [near, far] = this.#left[parent] === node ? [this.#left, this.#right] : [this.#right, this.#left]
    const between = far[node] as number
    near[parent] = between
    if (between !== none) this.#up[between] = parent
    far[node] = parent
    this.#up[parent] = node
    this.#up[node] = above
    if (parentIsTop) return
    if (this.#left[above] === parent) this.#left[above] = node
    else this.#right[above] = node
  }
}
