"use strict";
// The page gets a tree of methods, and cells: the weight of one kind, thread and moment that ends in
// a node. Whatever is chosen, the cells are added up anew, so every view is of exactly that choice.
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const state = { kind: 0, thread: -1, from: 0, to: data.buckets, invert: false, split: false, table: false, zoom: 0, focus: 0, matches: null };
let nodes, cells, view;

async function unpack(text) {
  // Deflated, and the lowest bytes of all numbers come first, then the next.
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = planes.length / 4;
  const found = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    found[i] = planes[i] | planes[count + i] << 8 | planes[2 * count + i] << 16 | planes[3 * count + i] << 24;
  }
  return found;
}

// Views: parents come before their children; the name of the root is -1, names of threads follow
// those of methods.

function chosen(each, kind) {
  const perThread = data.buckets, perKind = perThread * data.threads.length;
  for (let i = 0; i < cells.slot.length; i++) {
    const slot = cells.slot[i];
    const bucket = slot % perThread;
    if (Math.floor(slot / perKind) !== kind || bucket < state.from || bucket >= state.to) continue;
    const thread = Math.floor(slot % perKind / perThread);
    if (state.thread < 0 || state.thread === thread) each(cells.node[i], thread, cells.weight[i] * data.kinds[kind].scale);
  }
}

function summed(view) {
  view.total = Float64Array.from(view.own);
  for (let i = view.total.length - 1; i > 0; i--) view.total[view.parent[i]] += view.total[i];
  return view;
}

function plain(kind) {
  const own = new Float64Array(nodes.name.length);
  chosen((node, thread, weight) => { own[node] += weight; }, kind);
  return summed({ parent: nodes.parent, name: nodes.name, own });
}

function grown() {
  // A tree that grows at its leaves.
  const parent = [0], name = [-1], own = [0], below = [new Map()];
  const child = (at, what) => {
    let found = below[at].get(what);
    if (found === undefined) {
      found = parent.length;
      below[at].set(what, found);
      parent.push(at); name.push(what); own.push(0); below.push(new Map());
    }
    return found;
  };
  return { child, own, done: () => summed({ parent, name, own: Float64Array.from(own) }) };
}

function inverted(kind) {
  const tree = grown();
  const threads = state.split ? data.threads.length : 1;
  const ends = new Map();
  chosen((node, thread, weight) => {
    const key = node * threads + (state.split ? thread : 0);
    ends.set(key, (ends.get(key) || 0) + weight);
  }, kind);
  for (const [key, weight] of ends) {
    let at = state.split ? tree.child(0, data.names.length + key % threads) : 0;
    for (let node = Math.floor(key / threads); node; node = nodes.parent[node]) at = tree.child(at, nodes.name[node]);
    tree.own[at] += weight;
  }
  return tree.done();
}

function byThread(kind) {
  const tree = grown();
  const known = new Map();
  const place = (node, thread) => {
    const path = [];
    let at;
    for (; ; node = nodes.parent[node]) {
      at = known.get(node * data.threads.length + thread);
      if (at !== undefined) break;
      path.push(node);
      if (!node) break;
    }
    while (path.length) {
      const one = path.pop();
      at = one ? tree.child(at, nodes.name[one]) : tree.child(0, data.names.length + thread);
      known.set(one * data.threads.length + thread, at);
    }
    return at;
  };
  chosen((node, thread, weight) => { tree.own[place(node, thread)] += weight; }, kind);
  return tree.done();
}

function nameOf(node) {
  const name = view.name[node];
  if (name < 0 || node === 0) return data.whole;
  return name < data.names.length ? data.names[name] : data.threads[name - data.names.length];
}

function rebuild() {
  const build = (kind) => state.invert ? inverted(kind) : state.split ? byThread(kind) : plain(kind);
  view = build(state.kind);
  if (data.compare) {
    // The change of each node, by its names from the root on, since grown trees differ in their numbers.
    const others = data.kinds.map((one, kind) => kind === state.kind ? view : build(kind));
    if (others[0].parent === others[1].parent) view.sides = others.map((one) => one.total);
    else view.sides = aligned(others);
  }
  const count = view.parent.length;
  view.first = new Int32Array(count).fill(-1);
  view.next = new Int32Array(count).fill(-1);
  view.depth = new Int32Array(count);
  for (let i = 1; i < count; i++) view.depth[i] = view.depth[view.parent[i]] + 1;
  for (let i = count - 1; i > 0; i--) {
    if (!view.total[i]) continue;
    view.next[i] = view.first[view.parent[i]];
    view.first[view.parent[i]] = i;
  }
  view.sorted = new Map();
  state.zoom = state.focus = 0;
  search();
  drawTime();
  if (state.table) drawTable();
  about(0);
  draw();
}

function aligned(views) {
  const numbers = views.map((one) => {
    const ids = new Map([["", 0]]), keys = [""];
    for (let i = 1; i < one.parent.length; i++) { keys[i] = `${keys[one.parent[i]]}/${one.name[i]}`; ids.set(keys[i], i); }
    return { ids, keys };
  });
  const own = numbers[state.kind].keys;
  return views.map((one, side) => Float64Array.from(own, (key) => one.total[numbers[side].ids.get(key) ?? -1] || 0));
}

function children(node) {
  let found = view.sorted.get(node);
  if (!found) {
    found = [];
    for (let at = view.first[node]; at >= 0; at = view.next[at]) found.push(at);
    found.sort((a, b) => view.total[b] - view.total[a] || view.name[a] - view.name[b]);
    view.sorted.set(node, found);
  }
  return found;
}

// Amounts

function amount(weight) {
  if (!weight) return "0";
  const unit = data.kinds[state.kind].unit;
  if (unit === "share") return `${(100 * weight).toPrecision(3)} %`;
  if (unit === "bytes" || unit === "bytes/s") {
    let at = 0;
    while (weight >= 1024 && at < 4) { weight /= 1024; at++; }
    return `${at ? weight.toPrecision(3) : Math.round(weight)} ${["bytes", "KB", "MB", "GB", "TB"][at]}${unit === "bytes/s" ? "/s" : ""}`;
  }
  if (unit === "count" || unit === "count/s") {
    const number = weight.toLocaleString("en", { maximumSignificantDigits: Math.max(3, Math.ceil(Math.log10(weight))) });
    return unit === "count" ? number : `${number}/s`;
  }
  if (unit === "s/s") return `${weight.toPrecision(3)} s/s`;
  const seconds = weight / 1e9;
  return seconds >= 1 ? `${seconds.toPrecision(3)} s` : seconds >= 1e-3 ? `${(seconds * 1e3).toPrecision(3)} ms` : `${(seconds * 1e6).toPrecision(3)} µs`;
}

const percent = (part, whole) => `${(100 * part / (whole || 1)).toFixed(part && part / whole < 0.01 ? 2 : 1)} %`;

function about(node) {
  const parts = [nameOf(node), `${amount(view.total[node])}, ${percent(view.total[node], view.total[0])} of what is chosen`];
  if (state.zoom && node !== state.zoom) parts.push(`${percent(view.total[node], view.total[state.zoom])} of the zoomed frame`);
  if (view.own[node]) parts.push(`itself ${amount(view.own[node])}${node ? "" : " without a stack"}`);
  const kind = data.kindOfName[view.name[node]];
  if (node && kind) parts.push(kind);
  if (view.sides) parts.push(`${data.kinds[0].name} ${amount(view.sides[0][node])}, ${data.kinds[1].name} ${amount(view.sides[1][node])}`);
  $("about").textContent = parts.join(" · ");
}

// Drawing

const coarse = matchMedia("(pointer: coarse)").matches;
const ROW = coarse ? 24 : 18;
const FONT = `${coarse ? 13 : 12}px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace`;
let shown = [];

function isDark() {
  const root = document.documentElement.classList;
  return root.contains("dark") || (!root.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
}

const hues = new Map();
function hue(name) {
  const parts = name.split(".");
  const key = parts.slice(0, parts.length > 3 ? 3 : 1).join(".");
  let found = hues.get(key);
  if (found === undefined) {
    found = 7;
    for (let i = 0; i < key.length; i++) found = (found * 31 + key.charCodeAt(i)) >>> 0;
    hues.set(key, found = (found * 137) % 360);
  }
  return found;
}

function colour(node, dark) {
  if (view.sides) {
    const [before, after] = [view.sides[0][node], view.sides[1][node]];
    const change = (after - before) / (Math.max(before, after) || 1);
    const strength = Math.min(1, Math.abs(change) * 1.5);
    const light = dark ? 30 + 14 * strength : 92 - 26 * strength;
    return `hsl(${change > 0 ? 8 : 215}, ${strength * 80}%, ${light}%)`;
  }
  const name = view.name[node];
  if (name < 0 || name >= data.names.length) return dark ? "#3a424b" : "#dfe4e9";
  const kind = data.kindOfName[name];
  const light = dark ? 33 : 80;
  if (kind === "kernel") return `hsl(30, 55%, ${light}%)`;
  if (kind === "native" || kind === "vm") return `hsl(220, 8%, ${light}%)`;
  if (kind === "collector" || kind === "compiler") return `hsl(50, 60%, ${light}%)`;
  return `hsl(${hue(data.names[name])}, ${dark ? 38 : 62}%, ${kind === "inlined" ? light + 5 : light}%)`;
}

function path(node) {
  const found = [];
  for (let at = node; at; at = view.parent[at]) found.push(at);
  return [...found, 0].reverse();
}

function fit(canvas, width, height) {
  const ratio = Math.min(devicePixelRatio || 1, 3);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

let asked = false;
function draw() {
  if (!asked) { asked = true; requestAnimationFrame(() => { asked = false; drawNow(); }); }
}

function drawNow() {
  if (state.table) return;
  const box = $("view");
  const width = box.clientWidth, height = box.clientHeight;
  // Frames: those from the root to the zoomed one span all, then what is below it.
  const placed = [];
  const above = path(state.zoom);
  above.forEach((node, depth) => placed.push([node, 0, width, depth]));
  const waiting = [[state.zoom, 0, width]];
  let deepest = above.length;
  while (waiting.length) {
    const [node, left, wide] = waiting.pop();
    let x = left;
    for (const child of children(node)) {
      const part = view.total[node] ? wide * view.total[child] / view.total[node] : 0;
      if (part < 0.4) break;
      placed.push([child, x, part, view.depth[child]]);
      deepest = Math.max(deepest, view.depth[child] + 1);
      waiting.push([child, x, part]);
      x += part;
    }
  }
  $("size").style.height = `${Math.max(deepest * ROW + 4, 1)}px`;
  const context = fit($("flames"), width, height);
  const dark = isDark();
  const style = getComputedStyle(document.documentElement);
  const back = style.getPropertyValue("--back"), fore = style.getPropertyValue("--fore"), accent = style.getPropertyValue("--accent");
  context.fillStyle = back;
  context.fillRect(0, 0, width, height);
  context.font = FONT;
  context.textBaseline = "middle";
  const glyph = context.measureText("m").width;
  shown = [];
  for (const [node, left, wide, depth] of placed) {
    const y = depth * ROW - box.scrollTop;
    if (y + ROW < 0 || y > height) continue;
    shown.push([node, left, wide, y]);
    context.globalAlpha = depth < above.length - 1 ? 0.55 : 1;
    context.fillStyle = state.matches?.has(view.name[node]) ? (dark ? "#b13fc4" : "#f18cff") : colour(node, dark);
    context.fillRect(left, y, Math.max(wide - (wide > 3 ? 1 : 0), 0.4), ROW - 1);
    if (wide > 3 * glyph) {
      context.fillStyle = fore;
      context.fillText(fitted(nameOf(node), Math.floor((wide - 7) / glyph)), left + 3, y + ROW / 2);
    }
    if (node === state.focus && node) {
      context.strokeStyle = accent;
      context.lineWidth = 2;
      context.strokeRect(left + 1, y + 1, Math.max(wide - 3, 1), ROW - 3);
    }
  }
  context.globalAlpha = 1;
}

function fitted(name, most) {
  if (name.length <= most) return name;
  const short = name.split(".").slice(-2).join(".");
  if (short.length <= most) return short;
  const method = name.slice(name.lastIndexOf(".") + 1);
  if (method.length <= most) return method;
  return most > 1 ? `${method.slice(0, most - 1)}…` : "";
}

function at(event) {
  const box = $("flames").getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  for (let i = shown.length - 1; i >= 0; i--) {
    const [node, left, wide, top] = shown[i];
    if (x >= left && x < left + wide && y >= top && y < top + ROW) return node;
  }
  return null;
}

function zoom(node) {
  state.zoom = state.focus = node;
  const box = $("view");
  const top = view.depth[node] * ROW;
  if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 4 * ROW) box.scrollTop = Math.max(0, top - ROW);
  search();
  about(node);
  draw();
}

// Search

function search() {
  const text = $("search").value;
  const found = $("found");
  if (!text) { state.matches = null; found.textContent = chosenTime(); draw(); return; }
  let test;
  const pattern = text.match(/^\/(.+)\/$/);
  try {
    const expression = pattern && new RegExp(pattern[1]);
    const lower = text.toLowerCase();
    test = expression ? (name) => expression.test(name) : (name) => name.toLowerCase().includes(lower);
  } catch {
    found.textContent = "This is no regular expression";
    return;
  }
  state.matches = new Set();
  [...data.names, ...data.threads].forEach((name, number) => { if (test(name)) state.matches.add(number); });
  // Each sample counts once: at the outermost frame that matches.
  let sum = 0;
  const waiting = [state.zoom];
  while (waiting.length) {
    const node = waiting.pop();
    if (node && state.matches.has(view.name[node])) sum += view.total[node];
    else for (let one = view.first[node]; one >= 0; one = view.next[one]) waiting.push(one);
  }
  const where = state.zoom ? "the zoomed frame" : "what is chosen";
  found.textContent = `${state.matches.size.toLocaleString("en")} names match, on ${percent(sum, view.total[state.zoom])} of ${where}. ${chosenTime()}`;
  draw();
}

// Time

const seconds = (bucket) => `${(data.seconds * bucket / data.buckets).toPrecision(3)} s`;
const chosenTime = () => state.from === 0 && state.to === data.buckets ? "" : `From ${seconds(state.from)} to ${seconds(state.to)} of ${seconds(data.buckets)}.`;

function drawTime() {
  const canvas = $("time");
  canvas.hidden = data.buckets < 2;
  if (canvas.hidden) return;
  const perThread = data.buckets, perKind = perThread * data.threads.length;
  const sums = new Float64Array(data.buckets);
  for (let i = 0; i < cells.slot.length; i++) {
    const slot = cells.slot[i];
    if (Math.floor(slot / perKind) !== state.kind) continue;
    if (state.thread < 0 || state.thread === Math.floor(slot % perKind / perThread)) sums[slot % perThread] += cells.weight[i];
  }
  const width = canvas.parentElement.clientWidth - 2 * parseFloat(getComputedStyle(canvas.parentElement).paddingLeft);
  const height = innerWidth <= 600 ? 36 : 46;
  const context = fit(canvas, width, height);
  const style = getComputedStyle(document.documentElement);
  const most = sums.reduce((a, b) => Math.max(a, b), 0) || 1;
  const step = width / data.buckets;
  sums.forEach((sum, bucket) => {
    const inside = bucket >= state.from && bucket < state.to;
    context.fillStyle = style.getPropertyValue(inside ? "--accent" : "--line");
    const tall = (height - 4) * sum / most;
    context.fillRect(bucket * step, height - tall, Math.max(step - (step > 3 ? 1 : 0), 0.7), tall);
  });
}

// Table

function drawTable() {
  const own = new Map(), total = new Map();
  // Recursion: a sample counts once for each method on its stack.
  const walk = [[0, 0]];
  const onPath = new Map();
  while (walk.length) {
    const top = walk[walk.length - 1];
    const [node, phase] = top;
    const name = view.name[node];
    if (phase === 0) {
      top[1] = 1;
      if (node && name < data.names.length) {
        const depth = onPath.get(name) || 0;
        if (!depth) total.set(name, (total.get(name) || 0) + view.total[node]);
        onPath.set(name, depth + 1);
        if (!state.invert) own.set(name, (own.get(name) || 0) + view.own[node]);
        else if (view.parent[node] === 0 || view.name[view.parent[node]] >= data.names.length) own.set(name, (own.get(name) || 0) + view.total[node]);
      }
      for (let one = view.first[node]; one >= 0; one = view.next[one]) walk.push([one, 0]);
    } else {
      if (node && name < data.names.length) onPath.set(name, onPath.get(name) - 1);
      walk.pop();
    }
  }
  const wanted = [...total.keys()].filter((name) => !state.matches || state.matches.has(name));
  wanted.sort((a, b) => (own.get(b) || 0) - (own.get(a) || 0) || total.get(b) - total.get(a));
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const text of ["itself", "", "in all", "", "method"]) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = text;
    head.append(cell);
  }
  const body = table.createTBody();
  for (const name of wanted.slice(0, 500)) {
    const row = body.insertRow();
    const mine = own.get(name) || 0, all = total.get(name);
    for (const text of [amount(mine), percent(mine, view.total[0]), amount(all), percent(all, view.total[0]), data.names[name]]) {
      row.insertCell().textContent = text;
    }
    row.lastChild.addEventListener("click", () => { $("search").value = data.names[name]; toggle("top", "table", false); });
  }
  $("table").replaceChildren(table);
}

// Choices

function toggle(button, what, value = !state[what]) {
  state[what] = value;
  $(button).setAttribute("aria-pressed", value);
  if (what === "table") {
    $("view").hidden = value;
    $("table").hidden = !value;
  }
  rebuild();
}

function option(select, text, value) {
  const made = document.createElement("option");
  made.textContent = text;
  made.value = value;
  select.append(made);
}

function theme() {
  const root = document.documentElement.classList;
  const next = root.contains("light") ? "dark" : root.contains("dark") ? "" : "light";
  root.remove("light", "dark");
  if (next) root.add(next);
  $("theme").textContent = next ? `Theme: ${next}` : "Theme";
  drawTime();
  draw();
}

function move(key) {
  const node = state.focus;
  let next = node;
  const siblings = node ? children(view.parent[node]) : [0];
  const place = siblings.indexOf(node);
  if (key === "ArrowUp") next = view.parent[node];
  if (key === "ArrowDown") next = children(node)[0] ?? node;
  if (key === "ArrowLeft") next = siblings[Math.max(place - 1, 0)];
  if (key === "ArrowRight") next = siblings[Math.min(place + 1, siblings.length - 1)];
  state.focus = next;
  const box = $("view"), top = view.depth[next] * ROW;
  if (top < box.scrollTop) box.scrollTop = top;
  if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
  about(next);
  draw();
}

function listen() {
  $("kind").addEventListener("change", (event) => { state.kind = +event.target.value; rebuild(); });
  $("thread").addEventListener("change", (event) => { state.thread = +event.target.value; rebuild(); });
  $("search").addEventListener("input", () => { search(); if (state.table) drawTable(); });
  $("invert").addEventListener("click", () => toggle("invert", "invert"));
  $("split").addEventListener("click", () => toggle("split", "split"));
  $("top").addEventListener("click", () => toggle("top", "table"));
  $("theme").addEventListener("click", theme);
  $("reset").addEventListener("click", () => {
    state.from = 0; state.to = data.buckets; state.thread = -1;
    $("thread").value = -1; $("search").value = "";
    rebuild();
  });
  const flames = $("flames"), box = $("view");
  flames.addEventListener("click", (event) => { const node = at(event); if (node !== null) zoom(node); });
  flames.addEventListener("pointermove", (event) => {
    const node = event.pointerType === "mouse" ? at(event) : null;
    if (node !== null) about(node);
  });
  flames.addEventListener("pointerleave", () => about(state.focus));
  box.addEventListener("scroll", draw, { passive: true });
  box.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) { move(event.key); event.preventDefault(); }
    if (event.key === "Enter") zoom(state.focus);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") zoom(state.zoom ? view.parent[state.zoom] : 0);
    if (event.key === "/" && document.activeElement !== $("search")) { $("search").focus(); event.preventDefault(); }
  });
  const time = $("time");
  let begun = null;
  const bucket = (event) => {
    const place = time.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - place.left) / place.width, 0), 1) * data.buckets;
  };
  time.addEventListener("pointerdown", (event) => { begun = bucket(event); time.setPointerCapture(event.pointerId); });
  const drag = (event) => {
    const now = bucket(event);
    [state.from, state.to] = [Math.floor(Math.min(begun, now)), Math.ceil(Math.max(begun, now))];
  };
  time.addEventListener("pointermove", (event) => {
    if (begun === null) return;
    drag(event);
    drawTime();
    $("found").textContent = chosenTime();
  });
  time.addEventListener("pointerup", (event) => {
    if (begun === null) return;
    drag(event);
    // A click without dragging takes all again.
    if (Math.abs(bucket(event) - begun) * time.clientWidth / data.buckets < 3) [state.from, state.to] = [0, data.buckets];
    begun = null;
    rebuild();
  });
  time.addEventListener("pointercancel", () => { begun = null; });
  addEventListener("resize", () => { drawTime(); draw(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { drawTime(); draw(); });
}

async function begin() {
  const [up, name, slot, node, weight] = await Promise.all([data.up, data.name, data.slot, data.node, data.weight].map(unpack));
  nodes = { parent: up.map((step, number) => number - step), name: Int32Array.from(name) };
  nodes.name[0] = -1;
  for (let i = 1; i < slot.length; i++) slot[i] += slot[i - 1];
  cells = { slot, node, weight };
  data.kinds.forEach((one, number) => option($("kind"), one.name, number));
  $("kind").hidden = data.kinds.length < 2;
  option($("thread"), `all ${data.threads.length.toLocaleString("en")} threads`, -1);
  data.threads.forEach((one, number) => option($("thread"), one, number));
  $("thread").hidden = $("split").hidden = data.threads.length < 2;
  for (const text of data.limits) {
    const line = document.createElement("li");
    line.textContent = text;
    $("limits").querySelector("ul").append(line);
  }
  listen();
  rebuild();
  document.documentElement.dataset.ready = "yes";
}

begin();
