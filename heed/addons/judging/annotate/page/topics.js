// The list of topics with their progress.

import { byId, make, redraw, setLanguage } from "./dom.js";
import { counts, page } from "./state.js";

let openTopic = () => {};

/** Set the function that is called with the qid of a topic that is clicked. */
export function prepareTopics(open) {
  openTopic = open;
}

/** Return a topic's counts: the page's own for the topic in view, else the server's. */
export function countsOf(qid) {
  const counted = page.progress?.topics[qid] ?? { original: 0, again: 0, read: 0, version: 0 };
  return page.topic?.qid === qid ? { ...counted, ...counts() } : counted;
}

/** Return how many documents of a topic are judged, and how many are to be. */
export function progressOf({ qid, documents }, tab = page.tab) {
  const { original, again, read, edited } = countsOf(qid);
  return tab === "original" ? [original, documents] : [read, page.again || !edited ? again : documents];
}

/** Return whether documents of a topic are still to be judged. */
export function isOpen(topic, tab = page.tab) {
  const [count, total] = progressOf(topic, tab);
  return count < total;
}

/** Return the next topic, cyclically, that is open; undefined if only the one in view is, or none. */
export function nextOpen() {
  const { topics } = page;
  const position = topics.findIndex((topic) => topic.qid === page.topic.qid);
  return [...topics.slice(position + 1), ...topics.slice(0, position)].find((topic) => isOpen(topic));
}

/** Store the counts of the topic in view, before another one is shown. */
export function storeCounts() {
  if (page.topic && page.progress) Object.assign(page.progress.topics[page.topic.qid], counts());
}

/** Draw the list and the bar of all topics. */
export function showTopics() {
  redraw(byId("topics").firstElementChild, page.topics.map(rowData), row);
  byId("topics").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  const tab = page.task.judged.includes(page.tab) ? page.tab : page.task.judged[0];
  const all = page.topics.map((topic) => progressOf(topic, tab));
  const [judged, total] = [0, 1].map((part) => all.reduce((sum, counts) => sum + counts[part], 0));
  const text = `${judged} of ${total} ${nameOf(tab)}${timeLeft(total - judged)}`;
  byId("overall").replaceChildren(bar([tab, judged, total]), make("span", {}, text));
}

/** Return how long documents take at this assessor's pace, as text; empty until the pace is known. */
function timeLeft(left) {
  const { pace } = page.progress ?? {};
  byId("overall").title = pace ? `${Math.round(pace)} s a document; pauses of more than 10 minutes are not counted` : "";
  if (!pace || left <= 0) return "";
  const minutes = (left * pace) / 60;
  return minutes < 60 ? ` · ${Math.ceil(minutes)} min left` : ` · ${(minutes / 60).toFixed(1)} h left`;
}

const nameOf = (tab) => (tab === "changed" ? "read again" : "judged"); // as the log has it

function rowData(topic) {
  const { qid, query, language } = topic;
  const bars = page.task.judged.map((tab) => [tab, ...progressOf(topic, tab)]);
  return { qid, query, language, bars, inView: page.topic?.qid === qid };
}

function row({ qid, query, language, bars, inView }) {
  const progress = bars.map(([tab, count, total]) => `${count} of ${total} ${nameOf(tab)}`).join(", ");
  const attributes = {
    "data-qid": qid,
    "data-finished": bars.every(([, count, total]) => count === total),
    "aria-current": inView,
    title: progress,
    "aria-label": `${qid}: ${query}, ${progress}`,
    onclick: () => openTopic(qid),
  };
  const parts = [
    make("span", { class: "id" }, qid),
    setLanguage(make("span", { class: "query" }, make("bdi", {}, query)), language),
    make("span", { class: "bars" }, ...bars.map(bar)),
  ];
  return make("li", {}, make("button", attributes, ...parts));
}

function bar([tab, count, total]) {
  const label = `${nameOf(tab)}: ${count} of ${total}`;
  return make("progress", { value: count, max: Math.max(total, 1), "data-tab": tab, "aria-label": label });
}
