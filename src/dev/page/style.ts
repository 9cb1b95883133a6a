// How the page of what arrived looks: a list at the left, one mail at the right, light or dark as the reader's system is. Kept as
// text because it is served and never run here.
// Nothing is loaded from elsewhere: no fonts, no images.

export const style = `:root {
  --back: #ffffff; --panel: #f6f8f8; --line: #dfe6e6; --text: #17211f; --quiet: #566664;
  --accent: #0d7d73; --soft: #d9f2ef; --bad: #b91c1c; --ok: #15803d;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #0e1514; --panel: #131c1b; --line: #263533; --text: #e4eceb; --quiet: #93a5a2;
    --accent: #2dd4bf; --soft: #12332f; --bad: #f98080; --ok: #4ade80;
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
html { height: 100%; }
body {
  margin: 0; height: 100%; display: grid; grid-template-rows: auto 1fr auto; background: var(--back); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
.hidden, .skip:not(:focus) { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
header { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; padding: .6rem 1rem; border-bottom: 1px solid var(--line); background: var(--panel); }
h1 { font-size: 1.1rem; margin: 0; color: var(--accent); }
h2 { font-size: 1.25rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
.search { flex: 1 1 8rem; min-width: 0; }
input { width: 100%; max-width: 28rem; }
input, button {
  font: inherit; color: inherit; background: var(--back); border: 1px solid var(--line); border-radius: 6px; padding: .3rem .7rem;
}
button { cursor: pointer; }
button:hover { border-color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
#live { color: var(--quiet); font-size: .85rem; }
#live.on { color: var(--ok); }
#live.off { color: var(--bad); }
main { display: grid; grid-template-columns: minmax(15rem, 26rem) 1fr; min-height: 0; }
nav { border-right: 1px solid var(--line); overflow-y: auto; min-height: 0; }
#none { color: var(--quiet); padding: 1rem; margin: 0; }
ul { list-style: none; margin: 0; padding: 0; }
#list li { padding: .55rem 1rem; border-bottom: 1px solid var(--line); cursor: pointer; display: grid; grid-template-columns: 1fr auto; gap: 0 .6rem; }
#list li:hover { background: var(--panel); }
#list li[aria-selected=true] { background: var(--soft); box-shadow: inset 3px 0 var(--accent); }
#list .subject { font-weight: 400; }
#list li.unread .subject { font-weight: 650; }
#list span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
#list .people, .time { color: var(--quiet); font-size: .85rem; }
#detail { padding: 1rem 1.25rem; overflow-y: auto; min-height: 0; display: flex; flex-direction: column; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 1rem; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
.code { font-family: var(--mono); font-weight: 650; font-size: 1.1em; }
[role=tablist] { display: flex; flex-wrap: wrap; gap: .25rem; border-bottom: 1px solid var(--line); margin-bottom: .8rem; }
[role=tab] { border: 0; border-radius: 6px 6px 0 0; background: none; color: var(--quiet); }
[role=tab][aria-selected=true] { color: var(--accent); box-shadow: inset 0 -2px var(--accent); }
[role=tabpanel] { flex: 1; min-height: 16rem; display: flex; flex-direction: column; }
.actions { margin-left: auto; display: flex; gap: .5rem; align-items: start; }
.head { display: flex; gap: 1rem; }
iframe { flex: 1; width: 100%; min-height: 20rem; border: 1px solid var(--line); border-radius: 6px; background: #ffffff; color-scheme: light; }
pre { margin: 0; font-family: var(--mono); font-size: .87rem; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { font-weight: 500; color: var(--quiet); white-space: nowrap; }
a { color: var(--accent); }
.yes { color: var(--ok); } .no { color: var(--bad); } .quiet { color: var(--quiet); }
dialog { max-width: min(46rem, calc(100vw - 2rem)); width: 100%; border: 1px solid var(--line); border-radius: 10px; background: var(--back); color: var(--text); padding: 1rem 1.25rem; }
dialog::backdrop { background: rgb(0 0 0 / 40%); }
.rule { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .7rem; align-items: end; }
.field { display: grid; gap: .15rem; }
.field label { color: var(--quiet); font-size: .85rem; }
.rule input, .rule select { max-width: none; width: 100%; color: var(--text); font-size: 1rem; }
select { font: inherit; background: var(--back); border: 1px solid var(--line); border-radius: 6px; padding: .3rem .5rem; }
#rules li { display: flex; gap: 1rem; align-items: center; justify-content: space-between; padding: .35rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
#rules { margin-bottom: 1rem; }
#rule-wrong { color: var(--bad); min-height: 1.5em; margin: .5rem 0 0; }
footer { padding: .3rem 1rem; border-top: 1px solid var(--line); color: var(--quiet); font-size: .8rem; background: var(--panel); }
@media (max-width: 50rem) {
  main { grid-template-columns: 1fr; grid-template-rows: 40% 1fr; }
  nav { border-right: 0; border-bottom: 1px solid var(--line); }
  footer { display: none; }
}
`
