// A queue whose keys take turns: a tree of keys, where those beside each other under one branch have a turn each before
// the first of them comes again. So what fills one branch with a thousand keys has no more than that branch's turns.
//
// Promises: adding, removing and taking cost the depth of the path; nothing of an empty key is kept. The queue has no bound
// of its own: whoever fills it asks `longest` for what is to go.

export interface RunOptions {
  /** Ends the caller's wait; a task that has not started is not started any more. */
  readonly signal?: AbortSignal | undefined
  /** Time the task may wait, and time it may then run; a thread that runs longer is killed. */
  readonly deadlineMs?: number
  /** Time it may wait where that is another. */
  readonly waitMs?: number
  /** Whose task it is (an account, or a path down to one): keys take turns, at every step of the path. */
  readonly turnKey?: string | readonly string[]
}

interface Node<Job> {
  size: number
  readonly parent: Node<Job> | undefined
  readonly name: string
  /** The one whose turn is next comes first. */
  readonly children: Map<string, Node<Job>>
  readonly jobs: Set<Job>
}

export class Turns<Job> {
  readonly #root: Node<Job> = node(undefined, '')
  readonly #places = new Map<Job, Node<Job>>()

  get size(): number {
    return this.#root.size
  }

  /** How many wait in the key of this path. */
  sizeOf(path: readonly string[]): number {
    let at: Node<Job> | undefined = this.#root
    for (const name of path) at = at?.children.get(`/${name}`)
    return at?.children.get(own)?.size ?? 0
  }

  has(job: Job): boolean {
    return this.#places.has(job)
  }

  add(path: readonly string[], job: Job): void {
    let at = this.#root
    for (const name of path) at = child(at, `/${name}`)
    const leaf = child(at, own)
    leaf.jobs.add(job)
    this.#places.set(job, leaf)
    for (let up: Node<Job> | undefined = leaf; up !== undefined; up = up.parent) up.size += 1
  }

  /** Whether it was there. */
  remove(job: Job): boolean {
    const leaf = this.#places.get(job)
    if (leaf === undefined) return false
    this.#places.delete(job)
    leaf.jobs.delete(job)
    for (let up: Node<Job> | undefined = leaf; up !== undefined; up = up.parent) {
      up.size -= 1
      if (up.size === 0) up.parent?.children.delete(up.name)
    }
    return true
  }

  /**
   * The job whose turn it is, taken out; its key and all branches above it go to the end of their rows.
   *
   * @param free whether a branch of the root, or what waits at the root itself (''), may have a turn now
   */
  take(free: (branch: string) => boolean = () => true): Job | undefined {
    let at = this.#root
    const path: Node<Job>[] = []
    for (let next = this.#first(free); next !== undefined; [next] = at.children.values()) {
      path.push(next)
      at = next
    }
    const [job] = at.jobs
    if (job === undefined) return undefined
    this.remove(job)
    for (const { parent, name, size } of path) {
      const self = parent?.children.get(name)
      if (size === 0 || parent === undefined || self === undefined) continue
      parent.children.delete(name)
      parent.children.set(name, self)
    }
    return job
  }

  #first(free: (branch: string) => boolean): Node<Job> | undefined {
    for (const branch of this.#root.children.values()) if (free(branch.name.slice(1))) return branch
    return undefined
  }

  /** The newest job of the fullest branch, and in that of the fullest key. */
  longest(): Job | undefined {
    let at = this.#root
    while (at.children.size > 0) {
      let fullest: Node<Job> | undefined
      for (const one of at.children.values()) if (fullest === undefined || one.size >= fullest.size) fullest = one
      if (fullest === undefined) break
      at = fullest
    }
    return [...at.jobs].at(-1)
  }

  /** Everything that waits. */
  all(): Job[] {
    return [...this.#places.keys()]
  }
}

/** The jobs of a branch itself, beside its branches. */
const own = ''

function node<Job>(parent: Node<Job> | undefined, name: string): Node<Job> {
  return { size: 0, parent, name, children: new Map(), jobs: new Set() }
}

function child<Job>(parent: Node<Job>, name: string): Node<Job> {
  const known = parent.children.get(name)
  if (known !== undefined) return known
  const made = node(parent, name)
  parent.children.set(name, made)
  return made
}
