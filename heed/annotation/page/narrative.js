// The left side: query, narratives, the editor with its difference, and how far an edit has come.

import { counted, difference } from "./diff.js";
import { byId, make, settled, speak } from "./dom.js";
import { newId } from "./server.js";
import { about, apply, originally, page, said } from "./state.js";

const REST = 500; // ms without a key before an edit is saved

/** Versions of narratives by topic: that of the text in the editor, which an edit is based on. */
export const versions = new Map();

/** Edits that the server refused because somebody else was first, by topic; a reload must not lose them. */
const conflicts = new Map();
const shelf = () => `heed-conflicts-${page.task.name}`;
const keepConflicts = () => sessionStorage.setItem(shelf(), JSON.stringify([...conflicts]));

let session = ""; // one visit to the editor is undone in one piece
let edited = () => {};

/** `told` is called when the text in the editor changed. */
export function prepareNarrative(told) {
  edited = told;
  for (const [qid, one] of JSON.parse(sessionStorage.getItem(shelf()) ?? "[]")) conflicts.set(qid, one);
  const editor = byId("editor");
  editor.addEventListener("focus", () => {
    session = newId();
  });
  editor.addEventListener("input", () => {
    fit(editor);
    page.topic.changed = editor.value;
    showDifference();
    save();
  });
  editor.addEventListener("blur", () => save.flush());
}

const save = settled(REST, () => {
  const { qid, changed } = page.topic;
  edited();
  if (conflicts.has(qid)) {
    conflicts.get(qid).mine = changed; // not sent until it is decided whose text stays
    keepConflicts();
  } else send(qid, changed);
});

/** Save an edit that has not been saved yet. */
export const flushNarrative = () => save.flush();

/** Whether the editor holds what is not on its way yet. */
export const isEditing = () => save.waits() || conflicts.has(page.topic?.qid);

function send(qid, text) {
  const changes = [{ kind: "narrative", qid, text, base: versions.get(qid) }];
  page.queue.push("/api/changes", { id: newId(), assessor: page.assessor, batch: session || newId(), changes });
}

/** Somebody else was first: both texts are shown, and the assessor decides. */
export function showConflict(change, theirs) {
  conflicts.set(change.qid, { ...theirs, mine: change.text });
  keepConflicts();
  if (change.qid === page.topic?.qid) showNarrative();
}

/** Draw everything on the left. */
export function showNarrative() {
  const { topic } = page;
  const { query, language } = about(topic.qid);
  byId("qid").textContent = topic.qid;
  speak(byId("query"), language).replaceChildren(make("bdi", {}, query));
  const original = speak(byId("original"), language);
  original.textContent = topic.original || "This topic came without a narrative.";
  original.classList.toggle("soft", !topic.original);
  const editor = speak(byId("editor"), language);
  const mine = conflicts.get(topic.qid)?.mine;
  if (mine !== undefined) topic.changed = mine;
  if (editor.value !== topic.changed) editor.value = topic.changed;
  fit(editor);
  drawConflict();
  showDifference();
  showGauge();
}

function fit(editor) {
  editor.style.height = "auto";
  editor.style.height = `${editor.scrollHeight + 2}px`;
}

function showDifference() {
  const { topic } = page;
  const { language } = about(topic.qid);
  const pieces = difference(topic.original, topic.changed, language.tag);
  const { in: came, out: went } = counted(pieces, language.tag);
  const same = topic.original.trim() === topic.changed.trim();
  byId("edited").textContent = same ? "not edited yet" : "";
  byId("difference-label").hidden = same;
  byId("difference").hidden = same;
  byId("difference-count").textContent = same ? "" : `+${came} −${went} words`;
  const tags = { in: "ins", out: "del" };
  const drawn = pieces.map(({ kind, text }) => (tags[kind] ? make(tags[kind], {}, text) : text));
  speak(byId("difference"), language).replaceChildren(...drawn);
}

function drawConflict() {
  const { topic } = page;
  const { language } = about(topic.qid);
  const theirs = conflicts.get(topic.qid);
  byId("conflict").hidden = !theirs;
  if (!theirs) return;
  const decide = (text) => () => {
    conflicts.delete(topic.qid);
    keepConflicts();
    versions.set(topic.qid, theirs.version);
    apply({ kind: "narrative", qid: topic.qid, text });
    if (text !== theirs.text) send(topic.qid, text);
    showNarrative();
    edited();
  };
  byId("conflict").replaceChildren(
    make("p", {}, "This narrative was edited elsewhere meanwhile. Yours is not saved. Theirs is:"),
    speak(make("blockquote", {}, theirs.text), language),
    make("button", { onclick: decide(theirs.text) }, "Take theirs"),
    make("button", { onclick: () => decide(topic.changed)() }, "Keep mine"),
  );
}

/**
 * How many of the relevant documents the edit has made non-relevant, beside half of them: FollowIR and mFollowIR had
 * narratives edited until about half were.
 */
export function showGauge() {
  const relevant = page.topic.documents.filter((one) => (originally(one) ?? 0) > 0);
  const place = byId("gauge");
  place.hidden = !page.topic.original && !relevant.length;
  if (place.hidden) return;
  if (!relevant.length) {
    place.replaceChildren(
      make("h2", { class: "label" }, "Half of the relevant"),
      make("p", { class: "soft" }, "No document is relevant under the original narrative yet."),
    );
    return;
  }
  const judged = relevant.map((one) => said(one, "changed")).filter((one) => one.grade !== null);
  const out = judged.filter((one) => one.grade <= 0).length;
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
    make("h2", { class: "label" }, "Half of the relevant"),
    make("p", { id: "gauge-share" }, make("b", {}, `${out} of ${relevant.length} out: ${share(out)}%`), range),
    bar,
    make(
      "p",
      { class: "soft key" },
      key("out", `${out} no longer relevant`),
      key("left", `${left} to be read again`),
      key("kept", `${kept} still relevant`),
    ),
  );
}

function part(kind, count) {
  const made = make("span", { "data-part": kind });
  made.style.flexGrow = String(count);
  return made;
}

const key = (kind, told) => make("span", {}, make("i", { "data-part": kind }), told);
