// The state of the page: the task, the topic in view, and this assessor's judgements of its documents.

export const page = {
  task: null,
  topics: [], // of the task, those that this assessor judges
  assessor: "",
  topic: null, // as the server sent it, with changes that are not saved yet
  index: 0, // of the document in view
  tab: "original",
  progress: null,
  queue: null,
  marks: localStorage.getItem("heed-marks") !== "off",
  again: localStorage.getItem("heed-again") !== "off", // an edit narrows: only what was relevant is read again
  advance: localStorage.getItem("heed-advance") !== "off",
  raw: false, // show a table's source instead of the table
};

const UNJUDGED = Object.freeze({ grade: null, note: "" });

/** Return the judgement of a document of the topic in view. */
export const judgementOf = (entry, tab = page.tab) => entry[tab] ?? UNJUDGED;

/** Return the document in view; undefined in a topic without any. */
export const current = () => page.topic?.documents[page.index];

/** Return a topic of the task. */
export const topicOf = (qid) => page.task.topics.find((topic) => topic.qid === qid);

/** Return the language of a topic's documents. */
export const documentLanguage = (qid = page.topic.qid) => topicOf(qid).documentLanguage;

export const mayGrade = (tab = page.tab) => page.task.judged.includes(tab);

export const labelOf = (grade) => page.task.scale.find((known) => known.grade === grade)?.label ?? `grade ${grade}`;

/** Return the step of the scale (0 for not relevant, up to 3) that a grade is coloured as. */
export function shade(grade) {
  if (grade === null || grade <= 0) return "0";
  const positive = page.task.scale.filter((known) => known.grade > 0);
  const step = positive.findIndex((known) => known.grade === grade);
  return String(positive.length < 2 ? 2 : 1 + Math.round((2 * Math.max(step, 0)) / (positive.length - 1)));
}

/** Return the original grade of a document: the one decided for all, else this assessor's, else the given one. */
export const originalGrade = (entry) => entry.decided ?? judgementOf(entry, "original").grade ?? entry.given;

const squeezed = { text: "", words: "" }; // the last one: it is asked for once a document
/** Return a narrative's words, the same however it is broken into lines. */
export function words(text) {
  if (squeezed.text !== text) Object.assign(squeezed, { text, words: text.trim().replace(/\s+/g, " ") });
  return squeezed.words;
}

/** Return whether the narrative in the editor differs from the original in more than white space. */
export const isEdited = () => words(page.topic.changed) !== page.topic.original.trim().replace(/\s+/g, " ");

/** Return whether the narrative in view is to be edited before documents are graded under it. */
export const needsEdit = () => page.tab === "changed" && !isEdited();

/** Set the topic in view, as the server sent it: `stale` grades are for other words than those it sent. */
export function setTopic(topic) {
  for (const { changed } of topic.documents) if (changed) changed.wording = changed.stale ? null : words(topic.changed);
  page.topic = topic;
}

/** Return whether a document has a grade for the narrative as it is now in the editor. */
export function isRead(entry) {
  const { grade, wording } = judgementOf(entry, "changed");
  return grade !== null && wording === words(page.topic.changed);
}

/** Return whether a document's grade is for an earlier wording, or from before a correction. */
export function isStale(entry, tab = page.tab) {
  if (tab === "original") return judgementOf(entry, tab).stale === true;
  return judgementOf(entry, tab).grade !== null && !isRead(entry);
}

/** Return whether an edit can change a document's grade: it was relevant, or has been graded after an edit before. */
export const isConcerned = (entry) =>
  (originalGrade(entry) ?? 0) > 0 || judgementOf(entry, "changed").grade !== null;

/** Return whether documents of the topic in view are to be read again: not before its narrative is edited. */
export const isReadAgain = () => page.task.onlyRelevant || isEdited();

/** Return whether a document is still to be judged, under the tab in view. */
export function isDue(entry) {
  if (page.tab === "original") return judgementOf(entry).grade === null || isStale(entry);
  return isReadAgain() && !isRead(entry) && (!page.again || isConcerned(entry));
}

/** Return whether a document that is still to be judged was put off. */
export const isSkipped = (entry) => Boolean(judgementOf(entry).skipped) && isDue(entry);

/** Apply a change to the topic in view, whether it is saved yet or not. */
export function apply(change) {
  if (change.qid !== page.topic?.qid) return;
  if (change.kind === "narrative") {
    page.topic.changed = change.text;
    return;
  }
  const entry = page.topic.documents.find((document) => document.docid === change.docid);
  if (!entry) return;
  const before = judgementOf(entry, change.condition);
  entry[change.condition] =
    change.kind === "grade"
      ? { ...before, grade: change.grade, wording: words(page.topic.changed), stale: false }
      : { ...before, [change.kind]: change[change.kind] };
}

/** Return of the topic in view how many documents are graded, to be read again after an edit, and read again. */
export function counts() {
  const { documents } = page.topic;
  const isCurrent = (entry) => judgementOf(entry, "original").grade !== null && !isStale(entry, "original");
  const original = documents.filter(isCurrent).length;
  const edited = isReadAgain();
  const count = (condition) => (edited ? documents.filter(condition).length : 0);
  return { edited, original, again: count(isConcerned), read: count(isRead) };
}
