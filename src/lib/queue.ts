// A first-in first-out queue with a limit, on a ring that grows by doubling.
//
// `push` says no instead of growing past the limit, so that whoever fills it decides what a full queue means.

export class Queue<Item> {
  #items: (Item | undefined)[] = new Array(16)
  #head = 0
  #length = 0
  readonly lengthMax: number

  constructor(lengthMax: number) {
    this.lengthMax = lengthMax
  }

  get length(): number {
    return this.#length
  }

  /** Adds `item` at the end; false, and nothing added, when the queue is full. */
  push(item: Item): boolean {
    if (this.#length >= this.lengthMax) return false
    if (this.#length === this.#items.length) this.#grow()
    this.#items[(this.#head + this.#length) & (this.#items.length - 1)] = item
    this.#length += 1
    return true
  }

  /** The first item, left where it is. */
  peek(): Item | undefined {
    return this.#length === 0 ? undefined : this.#items[this.#head]
  }

  /** Takes the first item out. */
  shift(): Item | undefined {
    if (this.#length === 0) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head] = undefined
    this.#head = (this.#head + 1) & (this.#items.length - 1)
    this.#length -= 1
    return item
  }

  #grow(): void {
    const items: (Item | undefined)[] = new Array(this.#items.length * 2)
    for (let index = 0; index < this.#length; index++) {
      items[index] = this.#items[(this.#head + index) & (this.#items.length - 1)]
    }
    this.#items = items
    this.#head = 0
  }
}
