// What every node keeps in memory of rows that change seldom (certificates, subscriptions): read again everywhere before
// whoever changed them is answered.

export class Everywhere {
  readonly #reloads = new Map<string, () => Promise<void>>()
  /** Has the other nodes read it again; absent where there are none. */
  elsewhere: ((name: string) => Promise<void>) | undefined

  /** @param reload reads again what is kept here under that name */
  keep(name: string, reload: () => Promise<void>): void {
    this.#reloads.set(name, reload)
  }

  /** It was changed, and is read here already: resolves when it is so at all nodes that answer. */
  async changed(name: string): Promise<void> {
    await this.elsewhere?.(name)
  }

  /** Another node changed it. */
  async reload(name: string): Promise<void> {
    await this.#reloads.get(name)?.()
  }

  /** Changes may have been missed. */
  async reloadAll(): Promise<void> {
    await Promise.all([...this.#reloads.values()].map(reload => reload()))
  }
}
