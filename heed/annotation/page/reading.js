// The right side: the document in view with its words marked, the other documents as a strip, the grades.

import { byId, make, redraw, speak } from "./dom.js";
import { ask } from "./server.js";
import { about, current, label, mayGrade, page, said, shade } from "./state.js";
import { marked, newTerms, termsOf } from "./words.js";

const MOST_KEPT = 60; // documents in memory
const AHEAD = 3; // documents fetched before they are asked for
const documents = new Map();

/** The text of a document; from memory where it was seen lately. */
async function fetched(docid) {
  const known = documents.get(docid) ?? (await ask("/api/document", { docid }));
  documents.delete(docid);
  documents.set(docid, known);
  if (documents.size > MOST_KEPT) documents.delete(documents.keys().next().value);
  return known;
}

/** Draw everything on the right; the document itself once it is here. */
export async function showReading() {
  showStrip();
  showGrades();
  await showDocument(true);
}

/** The squares, one a document: its grade, and where we are. */
export function showStrip() {
  const { topic, tab } = page;
  const total = topic.documents.length;
  byId("position").textContent = total ? `Document ${page.at + 1} of ${total}` : "";
  for (const one of ["original", "changed"]) byId(`tab-${one}`).setAttribute("aria-selected", String(one === tab));
  redraw(byId("strip"), topic.documents.map(facts), square);
  byId("strip").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

/** What a square tells of a document. */
function facts(entry, at) {
  const { grade, stale, note } = said(entry);
  const shown = grade ?? (mayGrade() ? null : entry.given);
  return { at, docid: entry.docid, shown, stale, noted: note !== "", here: at === page.at };
}

function square({ at, docid, shown, stale, noted, here }) {
  const told = shown === null ? "no grade" : label(shown);
  return make(
    "button",
    {
      class: "square",
      "data-at": at,
      "data-shade": shown === null ? null : shade(shown),
      "data-stale": stale,
      "data-note": noted,
      "aria-current": here,
      title: `${at + 1}. ${docid}: ${told}${stale ? ", before the last edit" : ""}`,
    },
    shown === null ? "" : String(shown),
  );
}

/** The grades as buttons, and the note. */
export function showGrades() {
  const entry = current();
  const { grade, note } = entry ? said(entry) : { grade: null, note: "" };
  const closed = !entry || !mayGrade();
  byId("grades").replaceChildren(
    ...page.task.scale.map((one) =>
      make(
        "button",
        {
          class: "grade",
          "data-grade": one.grade,
          "data-shade": shade(one.grade),
          "aria-pressed": String((mayGrade() ? grade : entry?.given) === one.grade),
          disabled: closed,
        },
        make("kbd", {}, String(one.grade)),
        ` ${one.label}`,
      ),
    ),
  );
  byId("note").disabled = closed;
  if (document.activeElement !== byId("note")) byId("note").value = note;
  byId("note").placeholder = closed ? "Given judgements: read only" : "Note  ( / )";
}

let drawing = 0;

/** Draw the document in view; `top` goes to its beginning. */
export async function showDocument(top = false) {
  const entry = current();
  const place = byId("document");
  drawing += 1;
  const mine = drawing;
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
  if (!documents.has(entry.docid)) place.replaceChildren(make("p", { class: "empty" }, "…"));
  try {
    const found = await fetched(entry.docid);
    if (mine !== drawing) return;
    place.dataset.docid = entry.docid;
    place.replaceChildren(...drawn(found));
    if (top) place.scrollTop = 0;
    ahead();
  } catch {
    if (mine !== drawing) return;
    place.dataset.docid = "";
    place.replaceChildren(
      make("p", { class: "empty" }, "The server does not answer; this document cannot be shown now."),
    );
  }
}

function ahead() {
  for (const entry of page.topic.documents.slice(page.at + 1, page.at + 1 + AHEAD)) {
    if (!documents.has(entry.docid)) fetched(entry.docid).catch(() => {}); // asked again when it is in view
  }
}

/** What is looked for: the query, the narrative of the tab, and what only the changed narrative has. */
function wanted() {
  const { topic, tab } = page;
  const { query, language } = about(topic.qid);
  const original = termsOf(topic.original, language.tag);
  const changed = tab === "changed" ? termsOf(topic.changed, language.tag) : original;
  return {
    query: termsOf(query, language.tag, true),
    edit: newTerms(changed, original),
    narrative: changed,
  };
}

function drawn(found) {
  const language = page.task.documents;
  const terms = page.marks ? wanted() : {};
  const text = (content) => marks(content, language.tag, terms);
  const head = [make("span", { class: "id" }, make("bdi", {}, found.docid))];
  if (found.date) head.unshift(make("time", { datetime: found.date }, make("bdi", {}, found.date)));
  if (found.table) head.push(make("span", { class: "soft" }, page.raw ? "as it came (r)" : "drawn as a table (r)"));
  const key = page.marks ? legend(terms) : [make("span", { class: "soft" }, "words unmarked (h)")];
  const parts = [make("p", { class: "facts" }, ...head, make("span", { class: "spring" }), ...key)];
  const table = found.table && !page.raw;
  if (found.title && !(table && found.table.caption === found.title))
    parts.push(speak(make("h1", {}, make("bdi", {}, ...text(found.title))), language));
  if (table) parts.push(drawnTable(found.table, text, language));
  else parts.push(...paragraphs(found, text, language));
  return parts;
}

function legend(terms) {
  const names = { query: "query", narrative: "narrative", edit: "edit" };
  return Object.entries(names)
    .filter(([kind]) => terms[kind].stems.size + terms[kind].runs.size)
    .map(([kind, told]) => make("mark", { "data-kind": kind }, told));
}

function marks(text, tag, terms) {
  return marked(text, tag, terms).map(({ kind, text: part }) =>
    kind ? make("mark", { "data-kind": kind }, part) : part,
  );
}

function paragraphs(found, text, language) {
  if (found.table) return [speak(make("pre", {}, found.text), language)];
  return found.text
    .split(/\n+/)
    .filter((one) => one.trim())
    .map((one) => speak(make("p", { class: "text" }, ...text(one)), language)); // a block ends what an override began
}

function drawnTable(table, text, language) {
  const inside = (content) => make("bdi", {}, ...text(content));
  const header = table.header.map((row, at) => make("tr", {}, ...headings(row, at, table, inside)));
  const body = table.body.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, inside(cell)))));
  const made = make("table", {}, make("thead", {}, ...header), make("tbody", {}, ...body));
  if (table.caption) made.prepend(make("caption", {}, inside(table.caption)));
  return make("div", { class: "table", tabindex: 0 }, speak(made, language));
}

/** Header cells; above the last row equal neighbours are one cell, which is what spanned columns were read as. */
function headings(row, at, table, inside) {
  const found = [];
  for (let column = 0; column < row.length;) {
    let width = 1;
    if (at < table.header.length - 1 && row[column]) while (row[column + width] === row[column]) width += 1;
    const above = at > 0 && table.header[at - 1][column] === row[column] && width === 1;
    const spans = width > 1 ? { scope: "colgroup", colspan: width } : { scope: "col" };
    found.push(make("th", { ...spans, class: above ? "again" : null }, inside(row[column])));
    column += width;
  }
  return found;
}
