// Changes of grades and notes: applied to the page at once, then sent to the server.

import { byId, debounced, toast } from "./dom.js";
import { showGauge } from "./narrative.js";
import { showNotice } from "./notice.js";
import { showStrip } from "./reading.js";
import { newId } from "./server.js";
import { isDrawn } from "./shown.js";
import { apply, current, judgementOf, page } from "./state.js";
import { showTopics } from "./topics.js";

const NOTE_PAUSE = 400; // ms without a key before a note is saved

/** Apply changes to the topic in view and send them, with the wording that they were made under. */
export function change(changes, batch) {
  changes.forEach(apply);
  const id = newId();
  const body = { id, assessor: page.assessor, batch: batch ?? id, changes, wording: page.topic.changed };
  page.queue.push("/api/changes", body);
  showTopics();
  showGauge();
  showNotice();
}

/** Return topic, document and condition of a change. */
export const keyOf = (entry) => ({ qid: page.topic.qid, docid: entry.docid, condition: page.tab });

let noteBatch = ""; // all changes of a note until something else is done are undone together
let noteChange = null;

const saveNote = debounced(NOTE_PAUSE, () => {
  change([noteChange], noteBatch);
  showStrip();
});

/** Save a note that is not saved yet. */
export function flushNote() {
  saveNote.flush();
  noteBatch = "";
}

/** Save the note while it is typed; one of a document that is not on the page is refused, as its grade is. */
export function wireNote() {
  const note = byId("note");
  note.addEventListener("blur", flushNote);
  note.addEventListener("input", () => {
    if (!isDrawn(current()?.docid)) {
      note.value = judgementOf(current() ?? {}).note;
      toast(`The note of document ${page.index + 1} is not saved: the document is not on the page.`, true);
      return;
    }
    noteBatch ||= newId();
    noteChange = { ...keyOf(current()), kind: "note", note: note.value };
    saveNote();
  });
}

