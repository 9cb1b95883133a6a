// What runs in the page of what arrived: lists mails as they come, shows one, deletes, by mouse or keyboard.
//
// Plain JavaScript of the browser, kept as text because it is served and never run here. What mails say reaches the page as
// text nodes only; their HTML is shown in a frame that may do nothing. Links are shown as text unless they lead to the web.

import { elements } from '#http/page/parts.ts'

export const script = `'use strict';
const base = '/dev/v1';
${elements}
const views = ['HTML', 'Text', 'Source', 'Headers', 'Links', 'Attachments', 'Checks'];
let mails = [], chosen = null, view = null, shown = null, loading = 0, again = false;
// What is shown is of the mail that is chosen, or nothing: a key that is pressed before it is here counts for it all the same.

const call = async (path, init) => {
  const answer = await fetch(base + path, init);
  if (!answer.ok) throw new Error(String(answer.status));
  return answer;
};
const time = ms => new Date(ms).toLocaleTimeString();
const size = bytes => bytes < 1024 ? bytes + ' B' : bytes < 1048576 ? (bytes / 1024).toFixed(1) + ' KB' : (bytes / 1048576).toFixed(1) + ' MB';
const person = one => one ? (one.name ? one.name + ' <' + one.address + '>' : one.address) : '';

/** Asks for the list; what comes meanwhile leads to one more round. */
async function load() {
  if (loading) { again = true; return; }
  loading = 1;
  try {
    do {
      again = false;
      mails = (await (await call('/lines')).json()).lines;
      list();
    } while (again);
  } catch { live('off', 'not reachable'); } finally { loading = 0; }
}
function wanted() {
  const text = $('search').value.trim().toLowerCase();
  if (text === '') return mails;
  return mails.filter(mail => [mail.subject, mail.envelope.from, ...mail.envelope.to, person(mail.from)].join(' ').toLowerCase().includes(text));
}
function list() {
  const rows = wanted();
  $('none').hidden = rows.length > 0;
  $('none').textContent = mails.length ? 'No mail is like that.' : 'Nothing has arrived yet.';
  document.title = mails.length ? 'Mail (' + mails.length + ')' : 'Mail';
  $('list').replaceChildren(...rows.map(mail => h('li', {
    role: 'option', id: 'm' + mail.id, class: mail.read ? '' : 'unread', 'aria-selected': String(mail.id === chosen),
    onclick: () => choose(mail.id),
  },
    h('span', { class: 'subject' }, mail.subject || '(no subject)'),
    h('span', { class: 'time' }, time(mail.arrived)),
    h('span', { class: 'people' }, (mail.envelope.from || '<>') + ' → ' + mail.envelope.to.join(', ')),
    h('span', { class: 'time' }, (mail.attachments ? mail.attachments + (mail.attachments === 1 ? ' file, ' : ' files, ') : '') + size(mail.size)))));
  if (chosen !== null && !mails.some(mail => mail.id === chosen)) { chosen = shown = null; detail(); }
  if (chosen === null) $('list').removeAttribute('aria-activedescendant');
  else $('list').setAttribute('aria-activedescendant', 'm' + chosen);
}
async function choose(id) {
  if (id !== chosen) { chosen = id; shown = null; detail(); }
  list();
  document.getElementById('m' + id)?.scrollIntoView({ block: 'nearest' });
  try {
    const mail = await (await call('/mails/' + id)).json();
    if (chosen !== id) return;
    shown = mail;
    detail();
    await call('/mails/' + id + '/read', { method: 'PUT' });
  } catch { await load(); }
}
function detail() {
  const mail = shown;
  $('detail').setAttribute('aria-busy', String(chosen !== null && !mail));
  if (!mail) return $('detail').replaceChildren();
  const now = view ?? (mail.html ? 'HTML' : 'Text');
  const rows = [
    ['From', person(mail.from) || mail.envelope.from],
    ['To', mail.to.map(person).join(', ')],
    ['Cc', mail.cc.map(person).join(', ')],
    ['Envelope', (mail.envelope.from || '<>') + ' → ' + mail.envelope.to.join(', ')],
    ['Arrived', new Date(mail.arrived).toLocaleString() + ', ' + size(mail.size)],
    ['Code', mail.code ? h('span', { class: 'code' }, mail.code) : ''],
  ];
  const count = { Links: mail.links.length, Attachments: mail.attachments.length };
  $('detail').replaceChildren(
    h('div', { class: 'head' }, h('h2', {}, mail.subject || '(no subject)'),
      h('div', { class: 'actions' }, h('button', { type: 'button', onclick: remove }, 'Delete'))),
    h('dl', {}, rows.filter(row => row[1] !== '').map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    h('div', { role: 'tablist', 'aria-label': 'Views' }, views.map(name => h('button', {
      type: 'button', role: 'tab', id: 'tab-' + name, 'aria-selected': String(name === now), 'aria-controls': 'panel',
      onclick: () => { view = name; detail(); },
    }, name + (count[name] ? ' (' + count[name] + ')' : '')))),
    h('div', { role: 'tabpanel', id: 'panel', 'aria-labelledby': 'tab-' + now }, panel(now, mail)));
}
function panel(name, mail) {
  const none = text => h('p', { class: 'quiet' }, text);
  if (name === 'HTML') {
    if (!mail.html) return none('It has no HTML.');
    return h('iframe', { sandbox: '', src: base + '/mails/' + mail.id + '/html', title: 'HTML of the mail', referrerpolicy: 'no-referrer' });
  }
  if (name === 'Text') return h('pre', {}, mail.text);
  if (name === 'Source') {
    const pre = h('pre', {}, 'loading');
    call('/mails/' + mail.id + '/raw').then(answer => answer.text()).then(text => { pre.textContent = text; }, () => { pre.textContent = 'It is gone.'; });
    return [h('p', {}, h('a', { href: mail.raw, download: mail.id + '.eml' }, 'Download')), pre];
  }
  if (name === 'Headers') return h('table', {}, Object.entries(mail.headers).flatMap(([key, values]) => values.map(value => h('tr', {}, h('th', {}, key), h('td', {}, value)))));
  if (name === 'Links') {
    if (mail.links.length === 0) return none('It has no links.');
    const said = new Map();
    const rows = h('ul', {}, mail.links.map(link => {
      const verdict = h('span', {});
      said.set(link, verdict);
      return h('li', {}, /^https?:/i.test(link) ? h('a', { href: link, target: '_blank', rel: 'noopener noreferrer' }, link) : link, ' ', verdict);
    }));
    const told = h('p', { class: 'quiet', role: 'status' });
    const ask = async () => {
      told.textContent = 'asking';
      try {
        const found = await (await call('/mails/' + mail.id + '/links', { method: 'POST' })).json();
        for (const { url, ok, status, info } of found) said.get(url)?.replaceChildren(h('span', { class: ok ? 'yes' : 'no' }, [status || 'no answer', info].filter(Boolean).join(', ')));
        told.textContent = found.filter(one => !one.ok).length + ' of ' + found.length + ' do not answer as they should';
      } catch { told.textContent = 'It could not be asked.'; }
    };
    return [h('p', {}, h('button', { type: 'button', id: 'ask', onclick: ask }, 'Try the links')), told, rows];
  }
  if (name === 'Attachments') return mail.attachments.length === 0 ? none('It has no attachments.') : h('table', {}, mail.attachments.map(one => h('tr', {},
    h('td', {}, h('a', { href: one.url, download: one.filename || 'attachment' }, one.filename || '(no name)')), h('td', {}, one.contentType), h('td', {}, size(one.size)), h('td', {}, one.inline ? 'in the HTML' : ''))));
  const verdict = value => value === false ? h('span', { class: 'no' }, 'not proven') : value === null ? h('span', { class: 'quiet' }, 'no policy, or not asked') : h('span', { class: 'yes' }, value);
  const { session } = mail;
  const advice = h('tbody', {});
  call('/mails/' + mail.id + '/checks').then(answer => answer.json()).then(found => advice.replaceChildren(...found.map(({ name, ok, info }) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, h('span', { class: ok === null ? 'quiet' : ok ? 'yes' : 'no' }, (ok === null ? '' : ok ? 'good: ' : 'mind: ') + info))))), () => {});
  return h('table', {}, advice, [
    ['SPF', verdict(mail.spf)], ['DKIM', verdict(mail.dkim)], ['DMARC', verdict(mail.dmarc)],
    ['Protocol', session ? session.protocol : 'made in here'], ['EHLO', session ? session.helo : ''],
    ['TLS', session && session.tls ? session.tls.protocol + ', ' + session.tls.cipher : 'none'],
    ['Login', session && session.login ? session.login : 'none'], ['Size', size(mail.size) + ' (' + mail.size + ' bytes)'],
  ].map(([key, value]) => h('tr', {}, h('th', {}, key), h('td', {}, value))));
}
async function remove() {
  if (chosen === null) return;
  const rows = wanted();
  const at = rows.findIndex(mail => mail.id === chosen);
  const next = rows[at + 1] ?? rows[at - 1];
  await call('/mails/' + chosen, { method: 'DELETE' }).catch(() => {});
  await load();
  if (next && mails.some(mail => mail.id === next.id)) await choose(next.id);
}
const clear = () => call('/mails', { method: 'DELETE' }).catch(() => {});
function step(by) {
  const rows = wanted();
  if (rows.length === 0) return;
  const at = rows.findIndex(mail => mail.id === chosen);
  const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
  if (next && next.id !== chosen) void choose(next.id);
}
const values = { reply: ['Answer', '451 4.3.0 Later'], delay: ['Milliseconds', '5000'], drop: ['', ''], greylist: ['Milliseconds', '60000'], bounce: ['Reason', '550 5.1.1 No such user'] };
async function rules() {
  const all = await (await call('/failures')).json();
  $('failing').textContent = all.length ? 'Failures (' + all.length + ')' : 'Failures';
  $('rules').replaceChildren(...all.map(({ id, rule, hits }) => h('li', {},
    h('span', {}, Object.entries(rule).map(([key, value]) => key + ' ' + value).join(', ') + ': ' + hits + (hits === 1 ? ' time' : ' times')),
    h('button', { type: 'button', onclick: () => call('/failures/' + id, { method: 'DELETE' }).then(rules, () => {}), 'aria-label': 'Take away rule ' + id }, 'Take away'))));
}
async function addRule() {
  const does = $('rule-does').value, given = $('rule-value').value.trim();
  const rule = { at: $('rule-at').value, [does]: does === 'drop' ? true : does === 'reply' || does === 'bounce' ? given : Number(given) };
  for (const name of ['to', 'from']) if ($('rule-' + name).value.trim()) rule[name] = $('rule-' + name).value.trim();
  if ($('rule-times').value.trim()) rule.times = Number($('rule-times').value);
  if ($('rule-chance').value.trim()) rule.chance = Number($('rule-chance').value) / 100;
  $('rule-wrong').textContent = '';
  const answer = await fetch(base + '/failures', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(rule) }).catch(() => null);
  if (answer === null || !answer.ok) $('rule-wrong').textContent = answer === null ? 'It is not reachable.' : (await answer.json()).message;
  await rules().catch(() => {});
}
$('failing').addEventListener('click', () => { $('failures').showModal(); void rules(); });
$('failures-close').addEventListener('click', () => $('failures').close());
$('rule-add').addEventListener('click', addRule);
$('rule-does').addEventListener('change', () => {
  const [label, value] = values[$('rule-does').value];
  $('rule-value-field').hidden = label === '';
  $('rule-value-field').firstChild.textContent = label;
  $('rule-value').value = value;
  const at = { greylist: 'rcpt', bounce: 'end' }[$('rule-does').value];
  if (at) $('rule-at').value = at;
});
document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.altKey || event.metaKey || $('failures').open) return;
  const typing = event.target === $('search');
  if (event.key === 'Escape' && typing) { $('search').value = ''; list(); $('list').focus(); return; }
  if (typing) return;
  const number = Number(event.key);
  if (event.key === 'j' || event.key === 'ArrowDown') step(1);
  else if (event.key === 'k' || event.key === 'ArrowUp') step(-1);
  else if (event.key === 'd' || event.key === 'Delete') void remove();
  else if (event.key === 'D') void clear();
  else if (event.key === 'f') $('failing').click();
  else if (event.key === '/') $('search').focus();
  else if (number >= 1 && number <= views.length && chosen !== null) { view = views[number - 1]; detail(); }
  else return;
  event.preventDefault();
});
$('search').addEventListener('input', list);
$('clear').addEventListener('click', clear);
function live(state, text) { $('live').className = state; $('live').textContent = text; }
const events = new EventSource(base + '/events');
events.addEventListener('open', () => { live('on', 'live'); void load(); });
events.addEventListener('error', () => live('off', 'not connected'));
for (const name of ['arrived', 'gone', 'read']) events.addEventListener(name, () => void load());
`
