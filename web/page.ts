// What the page loads: how it looks and what it does.
//
// Apart from main.tsx, which areas count as there already: a style that they had too would be built once for each.

import './style.css'
import './main.tsx'
