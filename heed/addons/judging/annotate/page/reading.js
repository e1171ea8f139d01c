// The right side: the document in view with its words marked, the other documents as a strip, the grades.

import { byId, make, redraw, setLanguage } from "./dom.js";
import { analyse, isAnalysed, linesOf, marking, patience } from "./marking.js";
import { get } from "./server.js";
import { highlight } from "./passages.js";
import { isDrawn, setDrawn } from "./shown.js";
import {
  current,
  documentLanguage,
  isConcerned,
  isDue,
  isSkipped,
  isStale,
  judgementOf,
  labelOf,
  mayGrade,
  needsEdit,
  page,
  shade,
} from "./state.js";
import { tableRegion } from "./table.js";

const CACHE_SIZE = 60; // documents
const PREFETCHED = 3; // documents after the one in view
const RETRY = 1000; // ms until a document is requested again
const cache = new Map();

/** Return a document from the cache (least recently used ones are dropped) or the server. */
export async function fetchDocument(docid) {
  const known = cache.get(docid) ?? (await get("/api/document", { docid }));
  cache.delete(docid);
  cache.set(docid, known);
  if (cache.size > CACHE_SIZE) cache.delete(cache.keys().next().value);
  return known;
}

/** Return the version of a document as it is on the page, for a grade of it. */
export const versionOf = (docid) => cache.get(docid)?.version;

/** Draw everything on the right; the document itself once it is loaded. */
export async function showReading() {
  showMarks();
  await showDocument(true);
}

/** Draw the strip: a square with the grade of each document, the one in view highlighted. */
export function showStrip() {
  const { topic, tab } = page;
  const total = topic.documents.length;
  byId("position").textContent = total ? `Document ${page.index + 1} of ${total}` : "";
  for (const name of ["original", "changed"]) byId(`tab-${name}`).setAttribute("aria-selected", String(name === tab));
  redraw(byId("strip"), topic.documents.map(squareData), square);
  byId("strip").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

function squareData(entry, index) {
  const { grade, note, unsure } = judgementOf(entry);
  const shown = grade ?? (mayGrade() ? null : entry.given);
  const state = { shown, again: again(entry), isUnsure: Boolean(unsure), skipped: isSkipped(entry) };
  return { index, docid: entry.docid, ...state, hasNote: note !== "", inView: index === page.index };
}

/** Return whether a document is to be read again for the edit, or is left out, and why; empty otherwise. */
function again(entry) {
  if (isStale(entry)) return page.tab === "original" ? "graded before a correction" : "graded before the last edit";
  if (page.tab === "original") return "";
  if (!page.again) return "";
  if (isDue(entry)) return "to be read again";
  return isConcerned(entry) ? "" : "not relevant before, so not read again";
}

function square({ index, docid, shown, again, isUnsure, skipped, hasNote, inView }) {
  const marks = [again, isUnsure && "unsure", skipped && "skipped"].filter(Boolean).map((text) => `, ${text}`);
  const title = `${index + 1}. ${docid}: ${shown === null ? "no grade" : labelOf(shown)}${marks.join("")}`;
  return make(
    "button",
    {
      class: "square",
      "data-at": index,
      "data-shade": shown === null ? null : shade(shown),
      "data-again": again && (again.startsWith("not") ? "no" : "yes"),
      "data-note": hasNote,
      "aria-current": inView,
      tabindex: inView ? 0 : -1, // arrows lead to the others
      title,
      "aria-label": title, // else a graded one would be read as its grade alone
    },
    skipped ? "»" : `${shown ?? ""}${isUnsure ? "?" : ""}`,
  );
}

/** Draw what has changed beside the grade of the document in view. */
export function showMarks() {
  showStrip();
  showGrades();
}

/** Draw the grades as buttons, and the note. */
export function showGrades() {
  const entry = current();
  const { grade, note } = entry ? judgementOf(entry) : { grade: null, note: "" };
  const closed = !entry || !mayGrade();
  const isChosen = (known) => (mayGrade() ? grade : entry?.given) === known.grade;
  const disabled = closed || needsEdit();
  redraw(
    byId("grades"),
    page.task.scale.map((known) => ({ ...known, pressed: isChosen(known), disabled })),
    gradeButton,
  );
  const { unsure, skipped, passage } = entry ? judgementOf(entry) : {};
  byId("passage").title = passage?.text ?? "The selected text, or the next sentence, decided (p)";
  showPassage();
  for (const [id, isSet] of Object.entries({ unsure, passage, skip: skipped && isDue(entry) })) {
    byId(id).disabled = disabled;
    byId(id).setAttribute("aria-pressed", String(Boolean(isSet)));
  }
  byId("note").disabled = closed;
  if (document.activeElement !== byId("note")) byId("note").value = note;
  byId("note").placeholder = closed ? "Given judgements: read only" : "Note  ( / )";
}

function gradeButton({ grade, label, pressed, disabled }) {
  const attributes = { class: "grade", "data-grade": grade, "data-shade": shade(grade), disabled };
  return make("button", { ...attributes, "aria-pressed": String(pressed) }, make("kbd", {}, String(grade)), ` ${label}`);
}

let shown = null; // the document that was drawn last

/** Return the document in view as it is drawn; null if another one is on the page. */
export const drawnDocument = () => (isDrawn(current()?.docid) ? shown : null);

/** Mark the passage that decided in the document in view, and scroll to it if it is `followed`. */
export function showPassage(followed = false) {
  const place = byId("document");
  const passage = shown && shown.docid === current()?.docid && judgementOf(current()).passage;
  const [first] = highlight("passage", shown, place, passage ? [passage] : []);
  if (!first || !followed) return;
  const [{ top, bottom }, frame] = [first, place].map((each) => each.getBoundingClientRect());
  place.scrollTop += Math.min(top - frame.top, 0) + Math.max(bottom - frame.bottom, 0);
}

let drawings = 0; // of several documents that are requested, the last one is drawn

/** Draw the document in view; `top` scrolls to its beginning. */
export async function showDocument(top = false) {
  const entry = current();
  const place = byId("document");
  drawings += 1;
  const drawing = drawings;
  if (entry?.docid !== place.dataset.docid) setDrawn("");
  if (!entry) {
    place.replaceChildren(
      make(
        "p",
        { class: "empty" },
        page.task.onlyRelevant
          ? "No document of this topic is relevant in the given judgements."
          : "No document of this topic is in the pool.",
      ),
    );
    return;
  }
  if (!cache.has(entry.docid)) place.replaceChildren(make("p", { class: "empty" }, "…"));
  try {
    const data = await fetchDocument(entry.docid);
    const analysed = page.marks ? analyse(data, view()) : null;
    await patience(analysed);
    if (drawing !== drawings) return;
    const exact = isAnalysed(data, view());
    draw(place, data);
    if (top) place.scrollTop = 0;
    setDrawn(entry.docid);
    prefetch();
    if (!exact && (await analysed) && drawing === drawings) draw(place, data); // once the server has started Java
  } catch {
    if (drawing !== drawings) return;
    setDrawn("");
    place.replaceChildren(
      make("p", { class: "empty" }, "The server does not answer; this document cannot be shown now."),
    );
    setTimeout(() => drawing === drawings && showDocument(top), RETRY);
  }
}

function draw(place, data) {
  const isTable = data.table !== null && !page.raw;
  // asked for tables alone: to know the focus, the browser must lay out the page
  const hadFocus = (isTable || place.classList.contains("tabular")) && place.contains(document.activeElement);
  place.replaceChildren(...content(data));
  shown = data;
  showPassage();
  place.classList.toggle("tabular", isTable);
  if (hadFocus) (place.querySelector(".table") ?? place).focus({ preventScroll: true }); // its keys scroll
}

function prefetch() {
  for (const entry of page.topic.documents.slice(page.index + 1, page.index + 1 + PREFETCHED)) {
    const request = fetchDocument(entry.docid).then((data) => page.marks && analyse(data, view()));
    request.catch(() => {}); // requested again when it is in view
  }
}

const view = () => ({ ...page.topic, tab: page.tab });

/** Return a document's text or table with its words marked by a view of it, a key of the marks, and what marks a text. */
export function markedText(data, by) {
  const language = documentLanguage(by.qid);
  const { kinds, mark: divide } = page.marks ? marking(data, by) : { kinds: [], mark: (text) => [{ text, kind: "" }] };
  const mark = (text) => divide(text).map(element);
  const isTable = data.table && !page.raw;
  const body = isTable ? [tableRegion(data.table, mark, language)] : paragraphs(data, mark, language);
  return { body, key: kinds.map((kind) => element({ text: kind, kind })), mark };
}

function content(data) {
  const language = documentLanguage();
  const { body, key, mark } = markedText(data, view());
  const head = [make("span", { class: "id" }, make("bdi", {}, data.docid))];
  if (data.date) head.unshift(make("time", { datetime: data.date }, make("bdi", {}, data.date)));
  if (data.table) head.push(make("span", { class: "soft" }, page.raw ? "source (r)" : "table (r)"));
  if (!page.marks) key.push(make("span", { class: "soft" }, "words not marked (h)"));
  const parts = [make("p", { class: "facts" }, ...head, make("span", { class: "spring" }), ...key)];
  const table = page.raw ? null : data.table;
  if (data.title && data.title !== table?.caption)
    parts.push(setLanguage(make("h1", { "data-part": "title", "data-start": 0 }, bdi(mark(data.title))), language));
  return [...parts, ...body];
}

const bdi = (children) => make("bdi", {}, ...children);
const element = ({ text, kind }) => (kind ? make("mark", { "data-kind": kind }, text) : text);

function paragraphs(data, mark, language) {
  const part = (start) => ({ "data-part": "text", "data-start": start });
  if (data.table) return [setLanguage(make("pre", part(0), data.text), language)];
  const lines = linesOf(data.text);
  if (!lines.length) return [make("p", { class: "empty" }, "This document has no text.")];
  const paragraph = ({ 0: line, index }) => make("p", { class: "text", ...part(index) }, ...mark(line));
  return lines.map((line) => setLanguage(paragraph(line), language)); // a block ends an override
}
