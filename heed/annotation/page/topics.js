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
  const counted = page.progress?.topics[qid] ?? { original: 0, changed: 0, stale: 0, version: 0 };
  return page.topic?.qid === qid ? { ...counted, ...counts() } : counted;
}

/** Store the counts of the topic in view, before another one is shown. */
export function storeCounts() {
  if (page.topic && page.progress) Object.assign(page.progress.topics[page.topic.qid], counts());
}

/** Draw the list and the bar of all topics. */
export function showTopics() {
  redraw(byId("topics").firstElementChild, page.task.topics.map(rowData), row);
  byId("topics").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  const tab = page.task.judged.includes(page.tab) ? page.tab : page.task.judged[0];
  const total = page.task.topics.reduce((sum, topic) => sum + topic.documents, 0);
  const judged = page.task.topics.reduce((sum, topic) => sum + countsOf(topic.qid)[tab], 0);
  byId("overall").replaceChildren(bar([tab, judged, total]), make("span", {}, `${judged} of ${total} ${tab}`));
}

function rowData({ qid, query, language, documents }) {
  const counted = countsOf(qid);
  const bars = page.task.judged.map((tab) => [tab, counted[tab], documents]);
  return { qid, query, language, bars, inView: page.topic?.qid === qid };
}

function row({ qid, query, language, bars, inView }) {
  const attributes = {
    "data-qid": qid,
    "data-finished": bars.every(([, count, total]) => count === total),
    "aria-current": inView,
    title: bars.map(([tab, count, total]) => `${count} of ${total} ${tab}`).join(", "),
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
  const label = `${tab}: ${count} of ${total}`;
  return make("progress", { value: count, max: Math.max(total, 1), "data-tab": tab, "aria-label": label });
}
