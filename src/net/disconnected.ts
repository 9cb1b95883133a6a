// What a session meets whose peer is gone: nobody is left to be answered, so it is no Fault.

/** The peer is gone, or was let go. */
export class Disconnected extends Error {
  constructor(text = 'The connection is closed') {
    super(text)
    this.name = 'Disconnected'
  }
}
