// What the pages of the service have in common: their icon, and how their scripts make elements.
//
// Plain JavaScript of the browser, kept as text because it is served and never run here.

/** Address of the icon, which needs no request. */
export const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%230d9488'/%3E%3Cpath d='M7 11l9 7 9-7' fill='none' stroke='white' stroke-width='3' stroke-linecap='round' stroke-linejoin='round'/%3E%3C/svg%3E"

/** `$(id)`, and `h(name, attributes, ...children)`: text becomes text nodes only. */
export const elements = `const $ = id => document.getElementById(id);

/** Makes an element: h('a', { href: '#' }, 'text', child). */
function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}`
