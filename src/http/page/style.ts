// How the documentation page looks: the list at the left, one endpoint at the right, light or dark as the reader's
// system is. Kept as text because it is served and never run here.
// Nothing is loaded from elsewhere: no fonts, no images.

export const style = `:root {
  --back: #ffffff; --panel: #f6f8f8; --raised: #ffffff; --line: #dfe6e6; --text: #17211f; --quiet: #5d6d6b;
  --accent: #0d9488; --accent-soft: #d9f2ef; --code: #f0f4f4; --shadow: 0 1px 2px rgb(10 40 36 / .06);
  --get: #0f766e; --post: #1d4ed8; --put: #a16207; --delete: #b91c1c; --event: #7e22ce;
  --ok: #15803d; --bad: #b91c1c;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0e1514; --panel: #131c1b; --raised: #182322; --line: #263533; --text: #e4eceb; --quiet: #93a5a2;
    --accent: #2dd4bf; --accent-soft: #12332f; --code: #1a2726; --shadow: none;
    --get: #2dd4bf; --post: #7aa7ff; --put: #eab54c; --delete: #f98080; --event: #c79bff; --ok: #4ade80; --bad: #f98080;
  }
}
* { box-sizing: border-box; }
html { height: 100%; }
body {
  margin: 0; height: 100%; display: flex; flex-direction: column; background: var(--back); color: var(--text);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
a { color: var(--accent); }
code, pre, .mono { font-family: var(--mono); font-size: .9em; }
code { background: var(--code); border-radius: 4px; padding: .08em .35em; overflow-wrap: anywhere; }
pre { background: var(--code); border-radius: 8px; padding: 12px 14px; overflow: auto; margin: 8px 0; line-height: 1.45; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 12px; top: 8px; background: var(--raised); padding: 6px 10px; z-index: 9; }

header {
  display: flex; align-items: center; gap: 16px; padding: 10px 20px; border-bottom: 1px solid var(--line); background: var(--panel);
}
.brand { display: flex; align-items: center; gap: 10px; font-weight: 650; font-size: 17px; color: var(--text); text-decoration: none; }
.brand rect { fill: var(--accent); }
.brand path { fill: none; stroke: var(--back); stroke-width: 3; stroke-linecap: round; stroke-linejoin: round; }
.brand span { font-weight: 400; font-size: 13px; color: var(--quiet); }
.token { margin-left: auto; display: flex; align-items: center; gap: 8px; font-size: 13px; color: var(--quiet); }
.token input { width: 290px; }
#menu { display: none; font-size: 18px; padding: 2px 9px; }

input, select, textarea, button {
  font: inherit; font-size: 14px; color: var(--text); background: var(--raised); border: 1px solid var(--line);
  border-radius: 7px; padding: 6px 10px;
}
input::placeholder, textarea::placeholder { color: var(--quiet); opacity: .75; }
textarea { width: 100%; min-height: 150px; font-family: var(--mono); font-size: 13px; resize: vertical; }
button { cursor: pointer; }
button.primary { background: var(--accent); border-color: var(--accent); color: var(--back); font-weight: 600; padding: 7px 18px; }
button:disabled { opacity: .55; cursor: default; }

.columns { flex: 1; min-height: 0; display: flex; }
nav { width: 318px; flex: none; border-right: 1px solid var(--line); background: var(--panel); overflow-y: auto; padding-bottom: 30px; }
.search { position: sticky; top: 0; background: var(--panel); padding: 14px 16px 10px; z-index: 1; }
.search input { width: 100%; }
nav h2 { font-size: 12px; letter-spacing: .05em; text-transform: uppercase; color: var(--quiet); margin: 16px 20px 4px; font-weight: 600; }
nav a {
  display: flex; gap: 9px; align-items: baseline; padding: 3px 12px 3px 16px; margin: 0 6px; border-radius: 6px; color: var(--text);
  text-decoration: none; font-size: 13.5px; line-height: 1.45;
}
nav a:hover { background: var(--code); }
nav a[aria-current] { background: var(--accent-soft); }
nav .none { padding: 8px 20px; color: var(--quiet); }

.method { font-family: var(--mono); font-size: 11px; font-weight: 700; width: 42px; flex: none; }
.get { color: var(--get); } .post { color: var(--post); } .put, .patch { color: var(--put); } .delete { color: var(--delete); } .event { color: var(--event); }

main { flex: 1; min-width: 0; overflow-y: auto; padding: 28px 36px 80px; outline: none; }
main > * { max-width: 1180px; }
h1 { font-size: 25px; margin: 0 0 6px; line-height: 1.25; letter-spacing: -.01em; }
main h2 { font-size: 16px; margin: 30px 0 8px; }
main h3 { font-size: 14px; margin: 18px 0 4px; color: var(--quiet); font-weight: 600; }
.quiet { color: var(--quiet); }
.path {
  display: flex; gap: 12px; align-items: baseline; font-family: var(--mono); font-size: 15px; margin: 10px 0 14px; overflow-wrap: anywhere;
}
.path .method { width: auto; font-size: 13px; border: 1px solid currentColor; border-radius: 6px; padding: 1px 8px; }
.path em { font-style: normal; color: var(--accent); }
.split { display: grid; grid-template-columns: minmax(0, 1fr) minmax(330px, 430px); gap: 40px; align-items: start; }
.try {
  position: sticky; top: 0; border: 1px solid var(--line); border-radius: 12px; background: var(--panel); padding: 16px 18px; box-shadow: var(--shadow);
}
.try h2 { margin: 0 0 10px; }
.try label { display: block; font-size: 13px; margin: 9px 0 3px; }
.try label b { font-family: var(--mono); font-weight: 600; }
.try label i { font-style: normal; color: var(--bad); }
.try input:not([type=checkbox]), .try select { width: 100%; }
.try details { margin: 10px 0; }
.try summary { cursor: pointer; font-size: 13px; color: var(--quiet); }
.actions { display: flex; gap: 10px; align-items: center; margin-top: 14px; }
.answer pre { max-height: 420px; }
.status { font-weight: 650; } .status.ok { color: var(--ok); } .status.bad { color: var(--bad); }

table { border-collapse: collapse; width: 100%; font-size: 14px; }
td, th { text-align: left; vertical-align: top; padding: 7px 14px 7px 0; border-top: 1px solid var(--line); }
th { font-weight: 600; font-size: 12.5px; color: var(--quiet); border-top: 0; padding-bottom: 3px; }
td:first-child { width: 1%; white-space: nowrap; font-family: var(--mono); font-size: 13px; padding-right: 22px; }
td:first-child i { font-style: normal; color: var(--bad); }
.kind { color: var(--quiet); font-family: var(--mono); font-size: 12.5px; }
.rule { color: var(--quiet); font-size: 13px; }
.deep1 { padding-left: 18px !important; } .deep2 { padding-left: 36px !important; } .deep3 { padding-left: 54px !important; } .deep4 { padding-left: 72px !important; }
.pill { display: inline-block; font-family: var(--mono); font-size: 12px; border: 1px solid var(--line); border-radius: 99px; padding: 0 9px; margin: 1px 4px 1px 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(270px, 1fr)); gap: 14px; margin-top: 14px; }
.cards a {
  display: block; border: 1px solid var(--line); border-radius: 12px; padding: 14px 16px; text-decoration: none; color: var(--text);
  background: var(--panel);
}
.cards a:hover { border-color: var(--accent); }
.cards b { display: block; margin-bottom: 2px; }
.cards span { color: var(--quiet); font-size: 13.5px; }
.notice { padding: 12px 20px; }
@media (max-width: 1080px) { .split { grid-template-columns: minmax(0, 1fr); } .try { position: static; } }
@media (max-width: 720px) {
  #menu { display: block; }
  header { padding: 10px 12px; flex-wrap: wrap; }
  .token { width: 100%; margin: 0; } .token input { flex: 1; width: auto; min-width: 0; }
  nav { display: none; width: 100%; border: 0; } body.menu nav { display: block; } body.menu main { display: none; }
  main { padding: 20px 16px 60px; }
}
`
