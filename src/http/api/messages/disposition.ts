// How a download is called (RFC 6266), whoever chose the name.
//
// Pure. One name whatever was given, in a field that a browser and a proxy take.

/** A download under that name, which is one name whatever was given (RFC 6266 4.3). */
export function dispositionOf(given: string): string {
  const filename = given.replace(/[\x00-\x1f\x7f/\\]/g, '_')
  const plain = headerText(filename).replaceAll('"', '_')
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, one => `%${one.charCodeAt(0).toString(16)}`)
  return plain === filename
    ? `attachment; filename="${plain}"`
    : `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

export function headerText(text_: string): string {
  return text_.replace(/[^\x20-\x7e]/g, '_')
}
