// The page of the documentation before its script has run.
// It loads two files of ours and nothing else, and has no script or style of its own, so that the strictest content
// policy fits.

import { icon } from './parts.ts'

export const markup = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Teal API</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/docs/page.css">
<script src="/docs/page.js" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header>
  <button id="menu" type="button" aria-label="Show the list of endpoints" aria-expanded="false" aria-controls="nav">&#9776;</button>
  <a class="brand" href="#/"><svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M7 11l9 7 9-7"/></svg>Teal <span id="version"></span></a>
  <label class="token"><span>Access token</span><input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="40 hexadecimal digits"></label>
</header>
<div class="columns">
  <nav id="nav" aria-label="Endpoints">
    <div class="search"><input id="search" type="search" placeholder="Search (press /)" aria-label="Search endpoints"></div>
    <div id="list"></div>
  </nav>
  <main id="main" tabindex="-1"><p class="quiet">Loading&hellip;</p></main>
</div>
<noscript><p class="notice">This page needs its script. The same is in <a href="/openapi.json">/openapi.json</a>.</p></noscript>
</body>
</html>
`
