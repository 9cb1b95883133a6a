// The order in which folders are read: as a tree, in which what lies in a folder stands right below it.
//
// Names are sorted part by part: of whole paths `Work 2` comes before `Work/Old`, which then seems to lie in it.

const names = new Intl.Collator()

export function inTree<F extends { readonly path: string }>(folders: readonly F[]): F[] {
  return folders
    .map(folder => ({ folder, parts: folder.path.split('/') }))
    .sort((a, b) => compare(a.parts, b.parts))
    .map(({ folder }) => folder)
}

function compare(a: readonly string[], b: readonly string[]): number {
  for (const [at, part] of a.entries()) {
    const other = b[at]
    if (other === undefined) return 1
    if (part !== other) return names.compare(part, other) || (part < other ? -1 : 1)
  }
  return a.length - b.length
}
