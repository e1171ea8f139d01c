// The left side: query, narratives, the editor with its difference, and the gauge of an edit.

import { difference, wordCounts } from "./diff.js";
import { byId, debounced, make, setLanguage, toast } from "./dom.js";
import { newId, post } from "./server.js";
import { kept, markField } from "./spans.js";
import { apply, isRead, isReadAgain, judgementOf, originalGrade, page, topicOf, words } from "./state.js";

const EDIT_PAUSE = 500; // ms without a key before an edit is saved

/** The versions of narratives that edits are based on, by topic. */
export const versions = new Map();

/** Edits that the server refused because of an earlier edit by somebody else, by topic; they survive a reload. */
const conflicts = new Map();
const storageKey = () => `heed-conflicts-${page.task.name}`;
const storeConflicts = () => sessionStorage.setItem(storageKey(), JSON.stringify([...conflicts]));

let read = { text: "", spans: [], corrected: [] }; // how the text in the editor is read
let editBatch = ""; // all edits between focus and blur of the editor are undone together
let wordsBefore = ""; // when the editor got the focus
let onEdit = () => {};
let onConflict = () => {};

/** Wire the editor; `edited` is called after its text has changed, `undecided` when a conflict comes or goes. */
export function prepareNarrative({ edited, undecided }) {
  onEdit = edited;
  onConflict = undecided;
  for (const [qid, conflict] of JSON.parse(sessionStorage.getItem(storageKey()) ?? "[]")) conflicts.set(qid, conflict);
  const editor = byId("editor");
  editor.addEventListener("focus", () => {
    editBatch = newId();
    wordsBefore = words(page.topic.changed);
  });
  editor.addEventListener("input", () => {
    fitHeight(editor);
    page.topic.changed = editor.value;
    showReading();
    showDifference();
    save();
  });
  editor.addEventListener("blur", () => {
    save.flush();
    if (document.activeElement !== editor) editor.readOnly = true; // it is when another window has got the focus
  });
  new ResizeObserver(() => fitHeight(editor)).observe(byId("query")); // as wide as it
  for (const event of ["mousedown", "click"]) editor.addEventListener(event, () => (editor.readOnly = false));
}

/** Let keys into the editor: until then one that a search of the browser has led there grades as elsewhere. */
export function editNarrative() {
  byId("editor").readOnly = false;
  byId("editor").focus();
}

const save = debounced(EDIT_PAUSE, () => {
  const { qid, changed } = page.topic;
  onEdit();
  if (conflicts.has(qid)) {
    conflicts.get(qid).mine = changed; // not sent until the assessor decides
    storeConflicts();
  } else send(qid, changed);
});

/** Save an edit that is not saved yet. */
export const flushNarrative = () => save.flush();

/** Return whether the editor's words have changed since it got the focus. */
export const wasEdited = () => words(page.topic.changed) !== wordsBefore;

/** Return the topics whose edit waits for a decision. */
export const undecided = () => [...conflicts.keys()];

/** Return whether the editor holds text that is not sent yet. */
export const isEditing = () => save.pending() || conflicts.has(page.topic?.qid);

function send(qid, text) {
  const changes = [{ kind: "narrative", qid, text, base: versions.get(qid) }];
  page.queue.push("/api/changes", { id: newId(), assessor: page.assessor, batch: editBatch || newId(), changes });
}

/** Show both texts of a conflicting edit, for the assessor to decide. */
export function showConflict(change, theirs) {
  conflicts.set(change.qid, { ...theirs, mine: change.text });
  storeConflicts();
  onConflict();
  if (change.qid !== page.topic?.qid) return;
  showNarrative();
  byId("conflict").scrollIntoView({ block: "nearest" });
}

/** Draw everything on the left. */
export function showNarrative() {
  const { topic } = page;
  const { query, description, language } = topicOf(topic.qid);
  byId("narratives").dataset.tab = page.tab;
  byId("qid").textContent = topic.qid;
  setLanguage(byId("query"), language).replaceChildren(make("bdi", {}, query));
  setLanguage(byId("description"), language).replaceChildren(make("bdi", {}, description));
  const original = setLanguage(byId("original"), language);
  original.textContent = topic.original || "This topic has no original narrative.";
  original.classList.toggle("soft", !topic.original);
  const editor = setLanguage(byId("editor"), language);
  const mine = conflicts.get(topic.qid)?.mine;
  if (mine !== undefined) topic.changed = mine;
  if (editor.value !== topic.changed) editor.value = topic.changed;
  setLanguage(editor.previousElementSibling, language);
  fitHeight(editor);
  showReading();
  drawConflict();
  showDifference();
  showGauge();
}

/** Mark what the narrative asks for and excludes: what an edit has left at once, the rest when the server has read it. */
function showReading() {
  const text = byId("editor").value;
  if (text === read.text) return;
  read = kept(read, text);
  markField(byId("editor"), read);
  readAgain();
}

const readAgain = debounced(EDIT_PAUSE / 2, async () => {
  const { text } = read;
  try {
    const { spans } = await post("/api/reading", { text });
    if (text === read.text) markField(byId("editor"), (read = { ...read, spans })); // else edited meanwhile
  } catch (error) {
    if (error.message) toast(`How Heed reads the narrative is not known: ${error.message}`, true); // else the alarm says it
  }
});

function fitHeight(editor) {
  editor.style.height = "auto";
  editor.style.height = `${editor.scrollHeight + 2}px`;
}

function showDifference() {
  const { topic } = page;
  const { language } = topicOf(topic.qid);
  const pieces = difference(topic.original, topic.changed, language.tag);
  const { in: added, out: removed } = wordCounts(pieces, language.tag);
  const same = topic.original.trim() === topic.changed.trim();
  byId("edited").textContent = same ? "not edited yet" : "";
  byId("difference-part").hidden = same;
  byId("difference-count").textContent = same ? "" : `+${added} −${removed} words`;
  setLanguage(byId("difference"), language).replaceChildren(...pieces.map(editMark));
}

/** Return a piece of a difference as a child of an element. */
export function editMark({ kind, text }) {
  const tag = { in: "ins", out: "del" }[kind];
  return tag ? make(tag, {}, text) : text;
}

function drawConflict() {
  const { topic } = page;
  const { language } = topicOf(topic.qid);
  const theirs = conflicts.get(topic.qid);
  byId("conflict").hidden = !theirs;
  if (!theirs) return;
  const decide = (text) => () => {
    conflicts.delete(topic.qid);
    storeConflicts();
    versions.set(topic.qid, theirs.version);
    apply({ kind: "narrative", qid: topic.qid, text });
    if (text !== theirs.text) send(topic.qid, text);
    onConflict();
    showNarrative();
    onEdit();
  };
  byId("conflict").replaceChildren(
    make("p", {}, "This narrative was edited elsewhere meanwhile. Yours is not saved. Theirs is:"),
    setLanguage(make("blockquote", {}, theirs.text), language),
    make("button", { onclick: decide(theirs.text) }, "Take theirs"),
    make("button", { onclick: () => decide(topic.changed)() }, "Keep mine"),
  );
}

/**
 * Show how many relevant documents the edit has made non-relevant, compared with half of them: in FollowIR and
 * mFollowIR narratives were edited until about half were.
 */
export function showGauge() {
  const relevant = page.topic.documents.filter((entry) => (originalGrade(entry) ?? 0) > 0);
  const place = byId("gauge");
  place.hidden = !page.topic.original && !relevant.length;
  if (place.hidden) return;
  const none = "No document is relevant under the original narrative yet.";
  const reason = !relevant.length ? none : isReadAgain() ? "" : "The narrative is not edited yet.";
  if (reason) {
    place.replaceChildren(make("h2", { class: "label" }, "Ruled out by the edit"), make("p", { class: "soft" }, reason));
    return;
  }
  const judged = relevant.filter(isRead);
  const out = judged.filter((entry) => judgementOf(entry, "changed").grade <= 0).length;
  const kept = judged.length - out;
  const left = relevant.length - judged.length;
  const share = (count) => Math.round((100 * count) / relevant.length);
  const bar = make("div", {
    class: "halves",
    role: "img",
    "aria-label": `${out} of ${relevant.length} no longer relevant`,
  });
  for (const [kind, count] of [
    ["out", out],
    ["left", left],
    ["kept", kept],
  ]) {
    if (count) bar.append(part(kind, count));
  }
  bar.append(make("i", { class: "half" }));
  const range = left ? `, at most ${share(out + left)}% when all are read again` : "";
  place.replaceChildren(
    make("h2", { class: "label" }, "Ruled out by the edit"),
    make("p", { id: "gauge-share" }, make("b", {}, `${out} of ${relevant.length} out: ${share(out)}%`), range),
    bar,
    make(
      "p",
      { class: "soft key" },
      key("out", `${out} no longer relevant`),
      key("left", `${left} to be read again`),
      key("kept", `${kept} still relevant`),
    ),
    make("p", { class: "soft" }, "The mark is at half: in FollowIR about half of the relevant documents were ruled out."),
  );
}

function part(kind, count) {
  const element = make("span", { "data-part": kind });
  element.style.flexGrow = String(count);
  return element;
}

const key = (kind, text) => make("span", {}, make("i", { "data-part": kind }), text);
