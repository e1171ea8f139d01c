// The list of topics with what is done of each, and of all.

import { byId, make, redraw, speak } from "./dom.js";
import { counts, page } from "./state.js";

let open = () => {};

/** `chosen` is called with the id of a topic that is clicked. */
export function prepareTopics(chosen) {
  open = chosen;
}

/** Counts of every topic, those of the topic in view as the page has them. */
export function done(qid) {
  const told = page.progress?.topics[qid] ?? { original: 0, changed: 0, stale: 0, version: 0 };
  return page.topic?.qid === qid ? { ...told, ...counts() } : told;
}

/** Keep what the page knows of the topic in view, before another comes. */
export function keepCounts() {
  if (page.topic && page.progress) Object.assign(page.progress.topics[page.topic.qid], counts());
}

/** Draw the list and the bar of all topics. */
export function showTopics() {
  redraw(byId("topics").firstElementChild, page.task.topics.map(facts), row);
  byId("topics").querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  const tab = page.task.judged.includes(page.tab) ? page.tab : page.task.judged[0];
  const total = page.task.topics.reduce((sum, one) => sum + one.documents, 0);
  const judged = page.task.topics.reduce((sum, one) => sum + done(one.qid)[tab], 0);
  byId("overall").replaceChildren(bar([tab, judged, total]), make("span", {}, `${judged} of ${total} ${tab}`));
}

/** What a row tells of a topic. */
function facts({ qid, query, language, documents }) {
  const counted = done(qid);
  const bars = page.task.judged.map((tab) => [tab, counted[tab], documents]);
  return { qid, query, language, bars, here: page.topic?.qid === qid };
}

function row({ qid, query, language, bars, here }) {
  const attributes = {
    "data-qid": qid,
    "data-finished": bars.every(([, count, total]) => count === total),
    "aria-current": here,
    title: bars.map(([tab, count, total]) => `${count} of ${total} ${tab}`).join(", "),
    onclick: () => open(qid),
  };
  const parts = [
    make("span", { class: "id" }, qid),
    speak(make("span", { class: "query" }, make("bdi", {}, query)), language),
    make("span", { class: "bars" }, ...bars.map(bar)),
  ];
  return make("li", {}, make("button", attributes, ...parts));
}

function bar([tab, count, total]) {
  const told = `${tab}: ${count} of ${total}`;
  return make("progress", { value: count, max: Math.max(total, 1), "data-tab": tab, "aria-label": told });
}
