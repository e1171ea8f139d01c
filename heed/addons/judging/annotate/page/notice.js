// What is left to do in the topic in view, and what comes after it.

import { byId, make, redraw } from "./dom.js";
import { counts, isConcerned, isEdited, isStale, mayGrade, needsEdit, page } from "./state.js";
import { isOpen, nextOpen, progressOf } from "./topics.js";

/** Draw the notice above the documents; its buttons do what the keys in their titles do. */
export function showNotice() {
  byId("unjudged").textContent = page.tab === "changed" && page.again ? "Next to read again" : "Next unjudged";
  redraw(byId("notice"), [...(page.tab === "original" ? underOriginal() : underChanged()), ...scope()], draw);
}

const text = (words) => ({ words });
const button = (action, label, key, title) => ({ attributes: { "data-action": action, title }, label, key });

function draw({ words, attributes, label, key }) {
  if (words) return make("span", {}, words);
  return make("button", attributes, label, ...(key ? [make("kbd", {}, key)] : []));
}

const inView = () => ({ qid: page.topic.qid, documents: page.topic.documents.length });
const isOriginalOpen = () => mayGrade("original") && isOpen(inView(), "original");

function underOriginal() {
  const { again, read } = counts();
  const { documents } = page.topic;
  const judged = mayGrade("original");
  const open = isOriginalOpen();
  const parts = judged && !open && documents.length ? [text(`All ${documents.length} judged.`)] : keeping();
  const left = again - read;
  if (left) parts.push(button("again", `Read ${left} again`, "N", "Under the changed narrative"));
  if (open || !judged) return parts;
  const relevant = page.topic.documents.filter(isConcerned).length;
  if (relevant && !isEdited()) parts.push(button("edit", "Edit the narrative", "e", `Then read ${relevant} again`));
  return left && !nextOpen() ? parts : [...parts, ...following()];
}

function underChanged() {
  if (needsEdit()) return [button("edit", "Edit the narrative first", "e", "It is the original still")];
  const [count, total] = progressOf(inView());
  const verb = page.again ? "read again" : "judged";
  if (count === total) {
    const done = total ? `All ${total} ${verb}` : "None was relevant";
    if (!isOriginalOpen()) return [text(`${done}.`), ...following()];
    return [text(`${done} so far.`), button("original", "Judge the original", "o", "Its grades say what to read again")];
  }
  return [text(`${total - count} of ${total} to be ${verb}`), ...keeping()];
}

/** Return the button that keeps grades of before an edit or a correction, if there are any. */
function keeping() {
  const stale = page.topic.documents.filter((entry) => isStale(entry)).length;
  const title = "Grades of before the last edit or correction: they still hold";
  return stale ? [button("keep", `Keep ${stale} older`, "", title)] : [];
}

function following() {
  const topic = nextOpen();
  if (topic) return [button("next", `Next topic: ${topic.qid}`, "n", "The next one with documents to judge")];
  const isElsewhere = (tab) => mayGrade(tab) && page.topics.some((each) => isOpen(each, tab));
  if (page.tab === "original" && isElsewhere("changed"))
    return [button("again", "Every topic is judged: read again", "N", "Under the changed narratives")];
  if (isElsewhere("original")) return [text("Topics are left to judge under the original narrative.")];
  const missing = page.progress?.missing; // null until the server knows of the last grades
  if (missing !== "") return [text(`Nothing is left for you. ${missing ?? ""}`)];
  return [text("Every topic is finished; the command's --export writes the qrels.")];
}

/** Return the switch between the documents that an edit concerns and all. */
function scope() {
  if (page.tab === "original" || page.task.onlyRelevant) return [];
  const attributes = { "data-action": "scope", "aria-pressed": String(page.again), title: "Or all documents" };
  return [{ attributes, label: "Only relevant", key: "g" }];
}
