// The page of what arrived, before its script has run. It loads two files of ours and nothing else, and has no script or style
// of its own, so that the strictest content policy fits.

import { icon } from '#http/page/parts.ts'

export const markup = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Mail</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/page.css">
<script src="/page.js" defer></script>
</head>
<body>
<a class="skip" href="#detail">Skip to the mail</a>
<header>
  <h1>Mail</h1>
  <span id="live" role="status">connecting</span>
  <label class="search"><span class="hidden">Search</span><input id="search" type="search" placeholder="Search   /" autocomplete="off" spellcheck="false"></label>
  <button id="clear" type="button" title="Shift+D">Delete all</button>
</header>
<main>
  <nav aria-label="Mails"><ul id="list" role="listbox" tabindex="0" aria-label="Mails, newest first"></ul><p id="none">Nothing has arrived yet.</p></nav>
  <section id="detail" tabindex="-1" aria-live="off"></section>
</main>
<footer>j, k: next, previous &nbsp; 1&ndash;7: view &nbsp; d: delete &nbsp; Shift+D: delete all &nbsp; /: search</footer>
</body>
</html>
`
