// Topics and documents of results folders: what the location's hash names is drawn over the report.

import { byId, isAddress, make, setAddress, toast } from "../../../report/page/shared/dom.js";
import { documentParts } from "./document.js";
import { furtherParts, isFurther, needsServer } from "./further.js";
import { helpDialog, listen } from "./keys.js";
import { packedSource } from "./packed.js";
import { hashOf, parse } from "./route.js";
import { servedSource } from "./served.js";
import { shownConditions, topicParts } from "./topic.js";
import { listedTopics, orders, topicItems } from "./topics.js";

const VIEWS = ["topic", "document"];
const LISTING = ["find", "order", "narrative"]; // of the address: they stay from page to page of a folder
const OWN_ORDER = "topics"; // as the file has them
const state = { folder: null, topic: null, system: "", conditions: [], route: null, depth: "", find: "", order: "", narrative: "" };
const parts = {};
const overview = document.title;
let source = null;
let drawings = 0; // of several pages that are requested, the last one is drawn

function start() {
  source = packedSource(byId("explorer-data")) ?? servedSource(byId("explorer-served"));
  if (!source) return;
  if (source.ask) history.replaceState(null, "", `/${location.hash}`); // hide the token: a cookie has it now
  build(byId("explorer"));
  addEventListener("hashchange", show);
  listen(actions, () => !byId("explorer").hidden);
  show();
}

/** Make the frame: head, list of topics, topic, document. */
function build(root) {
  parts.back = make("a", { class: "back" }, "← Overview");
  parts.name = make("span", { class: "folder soft" });
  parts.topicsButton = make("button", { class: "only-narrow", onclick: toggleTopics }, "Topics");
  parts.help = helpDialog();
  const help = make("button", { "aria-label": "Keys", title: "Keys (?)", onclick: () => parts.help.showModal() }, "?");
  parts.search = make("input", { type: "search", placeholder: "Search topics  ( / )", "aria-label": "Search topics", oninput: filter });
  parts.search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && source.ask && parts.search.value.trim()) searchAll();
  });
  parts.searchAll = make("button", { hidden: true, onclick: searchAll }, "Search documents too ↵");
  parts.order = make("select", { "aria-label": "Order of topics", onchange: reorder });
  parts.list = make("ol");
  parts.topics = make("nav", { class: "topics", "aria-label": "Topics" }, parts.search, parts.searchAll, parts.order, parts.list);
  parts.topic = make("main", { class: "topic", tabindex: -1, "aria-label": "Topic" });
  parts.document = make("article", { class: "document", tabindex: 0, "aria-label": "Document" });
  parts.close = make("a", { class: "close" }, "Close");
  const tools = make("div", { class: "tools" }, parts.close, ...documentTools());
  parts.reading = make("section", { class: "reading", "aria-label": "Document beside the ranking" }, tools, parts.document);
  parts.further = make("main", { class: "further", tabindex: -1, "aria-label": "Page" });
  parts.playground = make("a", { title: "Change the instruction (p)" }, "Playground");
  const links = source.ask ? [parts.playground] : [];
  parts.notes = make("div", { class: "notes", role: "status" });
  root.append(
    make("header", { class: "head" }, parts.back, parts.name, parts.topicsButton, make("span", { class: "spring" }), ...links, help),
    parts.notes,
    make("div", { class: "panes" }, parts.topics, parts.topic, parts.reading, parts.further),
    parts.help,
    make("div", { id: "toast", role: "status" }),
  );
}

/** Draw what the hash names; the rest of the page is hidden meanwhile. */
async function show() {
  const { hash } = location;
  const route = parse(hash);
  const isOurs = VIEWS.includes(route.kind) || isFurther(route.kind);
  byId("explorer").hidden = !isOurs;
  document.documentElement.toggleAttribute("data-exploring", isOurs);
  drawings += 1;
  if (!isOurs) document.title = overview;
  if (!isOurs) return;
  const drawing = drawings;
  const isCurrent = () => drawing === drawings && isAddress(hash);
  try {
    await draw(route, isCurrent);
  } catch (error) {
    if (isCurrent()) failed(route, error);
  }
}

async function draw(route, isCurrent) {
  const known = source.folders();
  if (!known.includes(route.folder)) throw new Error(`No folder ${route.folder} is in this report; it has ${known.join(", ")}.`);
  const folder = await source.folder(route.folder);
  const stays = (name) => state.folder === folder && !route.query.has(name);
  const listing = Object.fromEntries(LISTING.map((name) => [name, stays(name) ? state[name] : (route.query.get(name) ?? "")]));
  if (route.kind === "topic" && !route.id) route.id = firstTopic(folder, systemOf(route, folder, null), listing);
  const isTopics = ["topic", "playground"].includes(route.kind);
  const qid = isTopics ? route.id : (route.query.get("topic") ?? "");
  const depth = source.ask ? (route.query.get("depth") ?? "") : "";
  const topic = qid ? await source.topic(route.folder, qid, depth) : null;
  if (!isCurrent()) return;
  const before = { ...state };
  Object.assign(state, { folder, topic, route, depth, ...listing });
  state.system = systemOf(route, folder, topic);
  state.conditions = topic ? shownConditions(topic, folder, route.query.get("pair")) : [];
  const isSame = ["folder", "system", "depth", ...LISTING].every((name) => before[name] === state[name]) && before.topic?.qid === qid
    && before.conditions.join() === state.conditions.join();
  remember(Object.fromEntries(LISTING.map((name) => [name, listing[name] || null])));
  if (!isSame) drawTopic(before);
  byId("explorer").toggleAttribute("data-further", isFurther(route.kind));
  if (isFurther(route.kind)) byId("explorer").removeAttribute("data-reading");
  if (!isFurther(route.kind)) return drawDocument(isCurrent);
  const written = (choice) => state.route === route && remember(choice); // not when the page has been left
  const further = await furtherParts(route, { source, folder, topic, remember: written });
  if (isCurrent()) parts.further.replaceChildren(...further);
}

/** Write what is chosen into the address, so that it can be passed on; null takes it out. */
function remember(choice) {
  const { kind, id, query } = state.route;
  for (const [name, value] of Object.entries(choice)) {
    if (value === null) query.delete(name);
    else query.set(name, value);
  }
  setAddress(hashOf(state.route.folder, kind, id, Object.fromEntries(query)));
}

function systemOf(route, folder, topic) {
  const listed = folder.systems.filter((name) => !topic || topic.rankings[name]);
  const wanted = route.query.get("system");
  return listed.includes(wanted) ? wanted : (listed[0] ?? "");
}

function drawTopic(before) {
  const { folder, topic, system, conditions } = state;
  parts.back.href = hashOf(folder.folder);
  parts.name.replaceChildren(make("bdi", {}, folder.title));
  parts.notes.replaceChildren(...folder.notes.map((note) => make("p", {}, note)));
  document.title = topic ? `${topic.qid}: ${topic.query}` : folder.title;
  parts.search.value = state.find;
  drawOrders();
  drawTopics();
  drawLink();
  parts.topic.replaceChildren(...(topic ? topicParts(topic, folder, system, conditions, addresses) : []));
  if (before.topic?.qid !== topic?.qid) parts.topic.scrollTop = 0;
}

/** Point the link of the head to the topic's playground. */
function drawLink() {
  const { folder, topic, conditions } = state;
  parts.playground.hidden = !topic;
  if (topic) parts.playground.href = hashOf(folder.folder, "playground", topic.qid, { condition: conditions.at(-1) });
}

/** Return the buttons beside a document. */
function documentTools() {
  const judge = make("button", { onclick: judgeDocument, title: "Judge this document in annotate (o)" }, "Judge");
  return [make("span", { class: "spring" }), judge];
}

/** Return topic, document and condition in view; null without one of them. */
function placeInView() {
  const { route, folder, topic, conditions } = state;
  if (route.kind !== "document" || !topic) return null;
  const condition = route.query.get("condition") ?? conditions.at(-1);
  return { folder: folder.folder, topic: topic.qid, docid: route.id, condition };
}

function judgeDocument() {
  const place = placeInView();
  if (!source.ask) toast(needsServer());
  else if (!source.annotate) toast("No annotate is known: start heed explore with --annotate and the link that annotate printed.");
  else if (!place) toast("Open a document of a topic first.");
  else {
    const tab = place.condition === "changed" ? "changed" : "original";
    open(`${source.annotate}#${new URLSearchParams({ topic: place.topic, doc: place.docid, tab })}`, "_blank", "noopener");
  }
}

function toPlayground() {
  if (!source.ask) toast(needsServer());
  else if (!parts.playground.hidden) location.hash = parts.playground.hash;
}

function searchAll() {
  location.hash = hashOf(state.folder.folder, "search", "", { q: parts.search.value.trim() });
}

/** The addresses of what is shown, with what is chosen now. */
const addresses = {
  topic: (qid) => hashOf(state.folder.folder, "topic", qid, chosen()),
  system: (name) => here({ system: name }),
  pair: (name) => here({ pair: name, condition: null }),
  depths: () =>
    (source.depths ?? []).map((depth) => ({ depth, href: here({ depth }), isShown: depth === Number(state.depth || source.depths[0]) })),
  document: (place, condition) =>
    hashOf(state.folder.folder, "document", state.topic.docids[place], { topic: state.topic.qid, ...chosen(), condition }),
  get narrative() {
    return { name: state.narrative, show: showNarrative };
  },
};

/** Return the address of what is shown with something else chosen. */
function here(choice) {
  const { folder, topic, route } = state;
  if (route.kind !== "document") return hashOf(folder.folder, "topic", topic.qid, { ...chosen(), ...choice });
  const kept = { topic: topic.qid, ...chosen(), condition: route.query.get("condition") };
  return hashOf(folder.folder, "document", route.id, { ...kept, ...choice });
}

const chosen = () => ({
  system: state.system || null,
  pair: state.folder.pairs.length > 1 ? state.conditions.join(">") || null : null,
  depth: state.depth || null,
});

/** Return the figure of a system by which topics are ordered: the chosen one, else the first; null for the topics' order. */
function orderOf(folder, system, name) {
  const known = orders(folder, system);
  return name === OWN_ORDER ? null : (known.find((order) => order.name === name) ?? known[0] ?? null);
}

function firstTopic(folder, system, { find, order }) {
  return listedTopics(folder, find, orderOf(folder, system, order)?.number ?? null)[0]?.topic.qid ?? "";
}

function showNarrative(name) {
  state.narrative = name ?? "";
  remember({ narrative: name });
}

function drawOrders() {
  const { folder, system } = state;
  const order = orderOf(folder, system, state.order);
  const options = orders(folder, system).map(({ name, label }) => make("option", { value: name, selected: name === order?.name }, label));
  parts.order.replaceChildren(...options, make("option", { value: OWN_ORDER, selected: !order }, "in the order of the topics"));
}

function reorder() {
  state.order = parts.order.value;
  remember({ order: state.order });
  drawTopics();
}

function filter() {
  state.find = parts.search.value;
  remember({ find: state.find || null });
  drawTopics();
}

function drawTopics() {
  const order = orderOf(state.folder, state.system, state.order)?.number ?? null;
  const options = { wanted: state.find, order, current: state.topic?.qid, link: addresses.topic };
  parts.searchAll.hidden = !source.ask || !parts.search.value.trim();
  const items = topicItems(state.folder, options);
  parts.list.replaceChildren(...(items.length ? items : [make("li", { class: "soft" }, "No topic has these words.")]));
  parts.list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

async function drawDocument(isCurrent) {
  const { route, folder, topic, conditions } = state;
  const docid = route.kind === "document" ? route.id : "";
  const root = byId("explorer");
  root.toggleAttribute("data-reading", docid !== "");
  mark(docid);
  if (!docid) {
    parts.document.replaceChildren(make("p", { class: "empty" }, "Choose a document of the ranking, or press j."));
    return;
  }
  parts.close.href = topic ? addresses.topic(topic.qid) : hashOf(folder.folder);
  try {
    const data = await source.document(folder.folder, docid);
    if (!isCurrent()) return;
    parts.document.replaceChildren(...documentParts(data, folder, topic, conditions));
  } catch (error) {
    if (!isCurrent()) return;
    parts.document.replaceChildren(make("p", { class: "empty" }, error.message));
  }
  parts.document.dataset.docid = docid;
  parts.document.scrollTop = 0;
}

/** Mark the links to the document in view; the one of the list that is read is `current`. */
function mark(docid) {
  for (const link of parts.topic.querySelectorAll(".ranking a")) {
    const isIt = link.dataset.docid === docid;
    if (isIt) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

/** Return the links of the list that is read: of the route's condition, else the first. */
function list() {
  const columns = [...parts.topic.querySelectorAll(".columns > section")];
  const at = Math.max(0, state.conditions.indexOf(state.route.query.get("condition")));
  return [...(columns[at]?.querySelectorAll("a") ?? [])];
}

function step(by) {
  const links = list();
  if (!links.length) return;
  const { kind, id } = parse(location.hash); // not what is drawn: keys may come faster
  const at = links.findIndex((link) => link.dataset.docid === id && kind === "document");
  const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + by))];
  follow(next, at >= 0);
}

/** Go to the document of a link; from one document to the next the browser's way back does not grow. */
function follow(link, isNext) {
  link.focus({ preventScroll: true });
  link.scrollIntoView({ block: "nearest" });
  if (isNext) location.replace(link.href);
  else location.href = link.href;
}

function other() {
  if (state.route.kind !== "document" || state.conditions.length < 2) return;
  const { route, topic, conditions } = state;
  const at = Math.max(0, conditions.indexOf(route.query.get("condition")));
  location.replace(addresses.document(topic.docids.indexOf(route.id), conditions[1 - at]));
}

function stepIn(items, current, by, address) {
  const next = items[items.indexOf(current) + by];
  if (next !== undefined) location.hash = address(next);
}

const shownTopics = () => [...parts.list.querySelectorAll("a")].map((link) => parse(new URL(link.href).hash).id);

function stepTopic(by) {
  if (state.topic) stepIn(shownTopics(), state.topic.qid, by, addresses.topic);
}

function stepSystem(by) {
  if (state.topic) stepIn(state.folder.systems, state.system, by, addresses.system);
}

function toggleTopics() {
  byId("explorer").toggleAttribute("data-topics");
}

function search() {
  byId("explorer").setAttribute("data-topics", "");
  parts.search.focus();
  parts.search.select();
}

function leave() {
  if (["document", "playground"].includes(state.route.kind) && state.topic) location.hash = addresses.topic(state.topic.qid);
  else location.hash = hashOf(state.folder.folder);
}

const actions = {
  j: () => step(1),
  k: () => step(-1),
  c: other,
  o: judgeDocument,
  p: toPlayground,
  "]": () => stepTopic(1),
  "[": () => stepTopic(-1),
  s: () => stepSystem(1),
  S: () => stepSystem(-1),
  "/": search,
  "?": () => parts.help.showModal(),
  Escape: leave,
};

function failed(route, error) {
  state.route = route;
  parts.back.href = hashOf(route.folder);
  parts.topic.replaceChildren(make("p", { class: "empty" }, error.message));
  parts.document.replaceChildren();
}

start();
