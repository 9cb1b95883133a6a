// Names of files that strangers chose, made fit for any disk (also those that know no case or have names of their own) and for eyes.
//
// Promises: pure, one part of a path, never empty. What turns the direction of text round or is not seen does not come through (`gnp.exe`
// must not read `exe.png`); the two joiners that scripts need to be written rightly do.

/** Signs that no name has: controls and what is not shown, halves of characters, and those that some disk means something by. */
const unfit = /(?![\u200c\u200d])[\p{C}\p{Zl}\p{Zp}"*/:<>?\\|]/gu
/** What Windows takes for a device, with any ending. */
const device = /^(con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i

/** @param bytesMax of the name in UTF-8; one that is too long keeps its ending */
export function fitFileName(text: string, bytesMax: number): string {
  const plain = text
    .toWellFormed()
    .normalize('NFC')
    .replace(unfit, '_')
    .replace(/^[. ]+|[. ]+$/g, '_')
  return shortened(plain.replace(device, '_$1'), bytesMax) || '_'
}

function shortened(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text) <= bytesMax) return text
  const [ending = ''] = /\.[^.]{1,12}$/.exec(text) ?? []
  const letters = [...text.slice(0, text.length - ending.length)]
  let kept = ''
  for (const letter of letters) {
    if (Buffer.byteLength(kept + letter + ending) > bytesMax) break
    kept += letter
  }
  return kept + ending
}
