// What runs in the documentation page: reads /openapi.json, lists and searches it, shows one endpoint, tries it.
//
// Plain JavaScript of the browser, kept as text because it is served and never run here. Text from the document and
// from answers reaches the page as text nodes only. The token stays in the tab (sessionStorage).

import { elements } from './parts.ts'

export const script = String.raw`'use strict';
${elements}
const answerLengthMax = 1 << 20;
let spec, entries = [];

/** Text with code marks and paragraphs. */
function prose(text) {
  return text.split(/\n\n+/).map(block => {
    const lines = block.split('\n');
    if (lines.every(line => line.startsWith('- '))) return h('ul', {}, lines.map(line => h('li', {}, inline(line.slice(2)))));
    return h('p', {}, inline(block));
  });
}
function inline(text) {
  return text.split(/(\x60[^\x60]+\x60)/).map(part => part.startsWith('\x60') ? h('code', {}, part.slice(1, -1)) : part);
}

function collect() {
  for (const [path, methods] of Object.entries(spec.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const shown = path.replace(/\{(\w+)\}/g, ':$1');
      entries.push({ method, path, shown, operation, tag: operation.tags[0], hash: '#/' + method + shown });
    }
  }
  for (const [name, { post }] of Object.entries(spec.webhooks || {})) {
    entries.push({ method: 'event', path: name, shown: name, operation: post, tag: 'Events', hash: '#/event/' + name });
  }
}

function groups(list) {
  const order = [...spec.tags.map(tag => tag.name), 'Events'];
  return order.map(tag => [tag, list.filter(entry => entry.tag === tag)]).filter(([, found]) => found.length > 0);
}

function showList() {
  const words = $('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = entries.filter(({ method, shown, tag, operation }) => {
    const text = [method, shown, tag, operation.summary].join(' ').toLowerCase();
    return words.every(word => text.includes(word));
  });
  const children = groups(found).map(([tag, list]) => h('section', {}, h('h2', {}, tag), list.map(entry =>
    h('a', { href: entry.hash, title: entry.shown, 'aria-current': entry.hash === location.hash ? 'page' : undefined },
      h('span', { class: 'method ' + entry.method }, label(entry.method)),
      h('span', {}, entry.method === 'event' ? entry.shown : inline(entry.operation.summary))))));
  $('list').replaceChildren(...(children.length ? children : [h('p', { class: 'none' }, 'Nothing found')]));
}
const label = method => method === 'delete' ? 'DEL' : method === 'event' ? 'EVENT' : method.toUpperCase();

function route() {
  document.body.classList.remove('menu');
  $('menu').setAttribute('aria-expanded', 'false');
  const entry = entries.find(one => one.hash === location.hash);
  showList();
  $('main').replaceChildren(...(entry ? showEntry(entry) : showHome()));
  $('main').scrollTop = 0;
  document.title = (entry ? entry.operation.summary.replaceAll('\x60', '') + ' \u2013 ' : '') + 'Teal API';
  const current = document.querySelector('nav [aria-current]');
  if (current) current.scrollIntoView({ block: 'nearest' });
}

function showHome() {
  const described = new Map(spec.tags.map(tag => [tag.name, tag.description]));
  return [
    h('h1', {}, 'The HTTP API of Teal'),
    ...prose(spec.info.description),
    h('p', {}, 'For programs: ', h('a', { href: '/openapi.json' }, '/openapi.json'), ' (OpenAPI ' + spec.openapi + ').'),
    h('div', { class: 'cards' }, groups(entries).map(([tag, list]) =>
      h('a', { href: list[0].hash }, h('b', {}, tag),
        h('span', {}, described.get(tag) || list.length + (list.length === 1 ? ' entry' : ' entries'))))),
  ];
}

function showEntry(entry) {
  const { operation, method } = entry;
  const shownPath = entry.shown.split(/(:\w+)/).map(part => part.startsWith(':') ? h('em', {}, part) : part);
  const parameters = operation.parameters || [];
  const sections = ['path', 'query', 'header'].map(place => {
    const list = parameters.filter(one => one.in === place);
    return list.length === 0 ? null : h('section', {}, h('h2', {}, { path: 'Path', query: 'Query', header: 'Headers' }[place]),
      table(list.flatMap(one => rows(one.name, { description: one.description, ...one.schema }, one.required, 0))));
  });
  const text = h('div', {}, prose(operation.description || ''), sections,
    operation.requestBody && showBody(operation.requestBody), showResponses(operation.responses));
  return [
    h('h1', {}, inline(operation.summary)),
    h('div', { class: 'path' }, h('span', { class: 'method ' + method }, label(method)), h('span', {}, shownPath)),
    method === 'event' ? text : h('div', { class: 'split' }, text, tryIt(entry)),
  ];
}

function showBody(body) {
  const types = Object.keys(body.content);
  const schema = body.content[types[0]].schema;
  return h('section', {}, h('h2', {}, 'Body'),
    h('p', { class: 'quiet' }, types.map(type => h('span', { class: 'pill' }, type === '*/*' ? 'bytes of any type' : type)), ' ', body.description || ''),
    schema.properties && table(objectRows(schema, 0)));
}

function showResponses(responses) {
  const refusals = [];
  const answers = Object.entries(responses).map(([status, response]) => {
    if (!status.startsWith('2')) {
      for (const line of response.description.split('\n')) {
        const match = /^- \x60(\w+)\x60: (.*)$/.exec(line);
        if (match) refusals.push(h('tr', {}, h('td', {}, status), h('td', {}, h('code', {}, match[1]), ' ', match[2])));
      }
      return null;
    }
    const content = response.content || {};
    const type = Object.keys(content)[0];
    const schema = type && content[type].schema;
    return [
      h('h2', {}, 'Answer', h('span', { class: 'quiet' }, ' ' + status + (type && type !== 'application/json' ? ' \u00b7 ' + type : ''))),
      schema && schema.properties ? table(objectRows(schema, 0, true)) : type ? null : prose(response.description),
    ];
  });
  return h('section', {}, answers.flat(), refusals.length ? [h('h2', {}, 'Refusals'), table(refusals)] : null);
}

const table = list => h('table', {}, h('tbody', {}, list));
/** One row for each field. Requests mark what must be there, answers what may be missing. */
function objectRows(schema, depth, isAnswer) {
  const required = new Set(schema.required || []);
  const entries = Object.entries(schema.properties);
  if (!isAnswer) entries.sort(([a], [b]) => required.has(b) - required.has(a));
  return entries.flatMap(([name, one]) => rows(name, one, required.has(name), depth, isAnswer));
}

function rows(name, schema, required, depth, isAnswer) {
  const mark = isAnswer ? (required ? null : h('span', { class: 'kind', title: 'may be missing' }, '?')) : required ? h('i', { title: 'required' }, '*') : null;
  const row = h('tr', {}, h('td', { class: depth ? 'deep' + Math.min(depth, 4) : undefined }, name, mark),
    h('td', {}, h('span', { class: 'kind' }, kind(schema)), ' ', inline(schema.description || ''), h('div', { class: 'rule' }, rules(schema))));
  const inner = schema.properties ? schema : schema.items && schema.items.properties ? schema.items : null;
  return [row, ...(inner && depth < 6 ? objectRows(inner, depth + 1, isAnswer) : [])];
}

function kind(schema) {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map(one => JSON.stringify(one)).join(' | ');
  if (schema.anyOf && !schema.type) return schema.anyOf.map(kind).join(' | ');
  if (schema.type === 'array') return kind(schema.items || {}) + '[]';
  return (schema.type || 'any') + (schema.format ? ' (' + schema.format + ')' : '');
}

function rules(schema) {
  const list = [];
  const item = schema.type === 'array' ? schema.items || {} : schema;
  if (schema.default !== undefined) list.push('default ' + JSON.stringify(schema.default));
  if (item.minimum !== undefined) list.push('at least ' + item.minimum);
  if (item.maximum !== undefined) list.push('at most ' + item.maximum);
  if (item.minLength) list.push('at least ' + item.minLength + ' characters');
  if (item.maxLength !== undefined) list.push('at most ' + item.maxLength + ' characters');
  if (schema.maxItems !== undefined) list.push('at most ' + schema.maxItems + ' items');
  const parts = list.length ? [list.join(', ')] : [];
  if (item.pattern && item.pattern.length < 120) parts.push(parts.length ? ', ' : '', h('code', {}, item.pattern));
  return parts;
}

/** A body to start from: what is required, and the first of what is not where nothing is. */
function sample(schema, depth = 0) {
  if (schema.default !== undefined) return schema.default;
  if (schema.examples) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf && !schema.type) return sample(schema.anyOf[0], depth);
  if (schema.type === 'array') return depth > 2 ? [] : [sample(schema.items || {}, depth + 1)];
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum || 0;
  if (schema.type === 'boolean') return false;
  if (!schema.properties) return schema.type === 'object' ? {} : '';
  const names = schema.required || Object.keys(schema.properties).slice(0, 1);
  return Object.fromEntries(names.map(name => [name, sample(schema.properties[name], depth + 1)]));
}

function tryIt(entry) {
  const { operation, method } = entry;
  const fields = [];
  const field = parameter => {
    const { schema } = parameter;
    const id = 'field-' + fields.length;
    const options = schema.enum || (schema.type === 'boolean' ? ['true', 'false'] : null);
    const input = options
      ? h('select', { id }, h('option', { value: '' }, ''), options.map(one => h('option', {}, String(one))))
      : h('input', { id, placeholder: schema.default !== undefined ? String(schema.default) : kind(schema), spellcheck: 'false' });
    if (parameter.name === 'user') input.value = sessionStorage.getItem('user') || '';
    fields.push({ parameter, input });
    return [h('label', { for: id }, h('b', {}, parameter.name), parameter.required ? h('i', {}, ' *') : null), input];
  };
  const parameters = operation.parameters || [];
  const first = parameters.filter(one => one.required || one.in === 'path');
  const rest = parameters.filter(one => !first.includes(one));
  const content = operation.requestBody && operation.requestBody.content;
  const json = content && content['application/json'];
  const body = json && h('textarea', { id: 'body', 'aria-label': 'JSON body', spellcheck: 'false' });
  if (body) body.value = JSON.stringify(sample(json.schema), null, 2);
  const file = content && content['*/*'] && h('input', { type: 'file', id: 'file' });
  const answer = h('div', { class: 'answer', 'aria-live': 'polite' });
  const send = h('button', { class: 'primary', type: 'submit' }, 'Send');
  const stop = h('button', { type: 'button', hidden: true }, 'Stop');
  const form = h('form', { class: 'try' }, h('h2', {}, 'Try it'), first.map(field),
    rest.length ? h('details', {}, h('summary', {}, rest.length + ' optional parameters'), rest.map(field)) : null,
    body && [h('label', { for: 'body' }, h('b', {}, 'body'), ' JSON'), body],
    file && [h('label', { for: 'file' }, h('b', {}, 'bytes'), body ? ' instead of JSON' : ''), file],
    h('div', { class: 'actions' }, send, stop), answer);
  form.addEventListener('submit', async event => {
    event.preventDefault();
    const request = build(entry, fields, body, file);
    const control = new AbortController();
    stop.onclick = () => control.abort();
    send.disabled = true;
    stop.hidden = false;
    try { await perform(method, request, control, answer); }
    catch (error) { if (error.name !== 'AbortError') answer.append(h('p', { class: 'status bad' }, String(error.message))); }
    send.disabled = false;
    stop.hidden = true;
  });
  return form;
}

function build(entry, fields, body, file) {
  let path = entry.path;
  const query = new URLSearchParams(), headers = {};
  for (const { parameter, input } of fields) {
    const value = input.value.trim();
    if (parameter.in === 'path') path = path.replace('{' + parameter.name + '}', () => encodeURIComponent(value));
    else if (value === '') continue;
    else if (parameter.in === 'query') query.append(parameter.name, value);
    else headers[parameter.name] = value;
    if (parameter.name === 'user') sessionStorage.setItem('user', value);
  }
  const token = $('token').value.trim();
  if (token) headers['X-Access-Token'] = token;
  const chosen = file && file.files[0];
  let payload;
  if (chosen) { payload = chosen; headers['Content-Type'] = chosen.type || 'application/octet-stream'; }
  else if (body && body.value.trim()) { payload = body.value; headers['Content-Type'] = 'application/json'; }
  return { url: path + (query.size ? '?' + query : ''), headers, payload };
}

async function perform(method, { url, headers, payload }, control, answer) {
  const begun = performance.now();
  answer.replaceChildren(h('h3', {}, 'Command'), h('pre', {}, curl(method, url, headers, payload)));
  const response = await fetch(url, { method: method.toUpperCase(), headers, body: payload, signal: control.signal, redirect: 'manual' });
  const type = response.headers.get('content-type') || '';
  const isText = /json|text|event-stream|rfc822|javascript|xml/.test(type);
  const output = h('pre', {}, '');
  answer.append(
    h('p', {}, h('span', { class: 'status ' + (response.ok ? 'ok' : 'bad') }, response.status + ' ' + response.statusText),
      h('span', { class: 'quiet' }, ' ' + Math.round(performance.now() - begun) + ' ms \u00b7 ' + (type || 'no content'))), output);
  const reader = response.body ? response.body.getReader() : null;
  const decoder = new TextDecoder();
  let length = 0;
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (isText && length <= answerLengthMax) output.append(decoder.decode(value, { stream: true }));
  }
  if (!isText) output.textContent = length + ' bytes';
  else if (length > answerLengthMax) output.append('\n\u2026 ' + length + ' bytes in all');
}

function curl(method, url, headers, payload) {
  const quote = text => "'" + text.replaceAll("'", "'\\''") + "'";
  const lines = ['curl -X ' + method.toUpperCase() + ' ' + quote(location.origin + url)];
  for (const [name, value] of Object.entries(headers)) {
    lines.push('-H ' + quote(name + ': ' + (name === 'X-Access-Token' ? '\u2026' : value)));
  }
  if (typeof payload === 'string') lines.push('-d ' + quote(payload));
  else if (payload) lines.push('--data-binary ' + quote('@' + payload.name));
  return lines.join(' \\\n  ');
}

async function start() {
  try {
    spec = await (await fetch('/openapi.json')).json();
  } catch (error) {
    $('main').replaceChildren(h('p', { class: 'status bad' }, '/openapi.json could not be loaded: ' + error.message));
    return;
  }
  $('version').textContent = spec.info.version;
  $('token').value = sessionStorage.getItem('token') || '';
  $('token').addEventListener('input', () => sessionStorage.setItem('token', $('token').value));
  $('search').addEventListener('input', showList);
  $('menu').addEventListener('click', () => {
    const open = document.body.classList.toggle('menu');
    $('menu').setAttribute('aria-expanded', String(open));
  });
  document.addEventListener('keydown', event => {
    if (event.key === '/' && !/INPUT|TEXTAREA|SELECT/.test(document.activeElement.tagName)) {
      event.preventDefault();
      $('search').focus();
    }
  });
  window.addEventListener('hashchange', route);
  collect();
  route();
}
start();
`
