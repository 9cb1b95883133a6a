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
  <button id="failing" type="button" title="f" aria-haspopup="dialog">Failures</button>
  <button id="clear" type="button" title="Shift+D">Delete all</button>
</header>
<main>
  <nav aria-label="Mails"><ul id="list" role="listbox" tabindex="0" aria-label="Mails, newest first"></ul><p id="none">Nothing has arrived yet.</p></nav>
  <section id="detail" tabindex="-1" aria-live="off"></section>
</main>
<dialog id="failures" aria-labelledby="failures-title">
  <div class="head"><h2 id="failures-title">Failures</h2><div class="actions"><button id="failures-close" type="button">Close</button></div></div>
  <p class="quiet">What happens to mail that an application sends, until the rule is taken away.</p>
  <ul id="rules" aria-label="Rules"></ul>
  <div class="rule" role="group" aria-label="New rule">
    <div class="field"><label for="rule-at">At</label><select id="rule-at"><option value="connect">connection</option><option value="auth">login</option><option value="mail">sender</option><option value="rcpt" selected>recipient</option><option value="data">data</option><option value="end">end of the mail</option></select></div>
    <div class="field"><label for="rule-does">What</label><select id="rule-does"><option value="reply" selected>answer</option><option value="delay">wait</option><option value="drop">cut the connection</option><option value="greylist">greylist</option><option value="bounce">come back later</option></select></div>
    <div class="field" id="rule-value-field"><label for="rule-value">Answer</label><input id="rule-value" autocomplete="off" spellcheck="false" value="451 4.3.0 Later"></div>
    <div class="field"><label for="rule-to">Recipient</label><input id="rule-to" autocomplete="off" spellcheck="false" placeholder="any"></div>
    <div class="field"><label for="rule-from">Sender</label><input id="rule-from" autocomplete="off" spellcheck="false" placeholder="any"></div>
    <div class="field"><label for="rule-times">Times</label><input id="rule-times" inputmode="numeric" autocomplete="off" placeholder="always"></div>
    <div class="field"><label for="rule-chance">Chance (%)</label><input id="rule-chance" inputmode="decimal" autocomplete="off" placeholder="100"></div>
    <button id="rule-add" type="button">Add</button>
  </div>
  <p id="rule-wrong" role="alert"></p>
</dialog>
<footer>j, k: next, previous &nbsp; 1&ndash;7: view &nbsp; f: failures &nbsp; d: delete &nbsp; Shift+D: delete all &nbsp; /: search</footer>
</body>
</html>
`
