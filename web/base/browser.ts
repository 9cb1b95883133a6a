// What the browser keeps for the page, and the page's other windows, where it lets it.
//
// Where somebody forbids cookies or site data, merely to ask for `localStorage` throws, or there is none, and windows may not speak to each
// other. Then nothing is known from before, nothing can be kept, as where there is no room, and the page is of use all the same.

export const local = {
  get(key: string): string | null {
    return trying(() => localStorage.getItem(key)) ?? null
  },

  /** @returns whether it is kept */
  set(key: string, value: string): boolean {
    const isKept = trying(() => {
      localStorage.setItem(key, value)
      return true
    })
    return isKept === true
  },

  remove(key: string): void {
    trying(() => localStorage.removeItem(key))
  },

  keys(): readonly string[] {
    return trying(() => Object.keys(localStorage)) ?? []
  },
}

/** Other windows of this browser, as far as they can be spoken to. */
export function otherWindows<T>(name: string, hear: (said: T) => void): (said: T) => void {
  const channel = trying(() => new BroadcastChannel(name))
  channel?.addEventListener('message', ({ data }: MessageEvent<T>) => hear(data))
  return said => channel?.postMessage(said)
}

function trying<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}
