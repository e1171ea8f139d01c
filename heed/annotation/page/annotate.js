// The page as a whole: who judges, and what keys and buttons do.

import { prepareAgreement } from "./agreement.js";
import { byId, make, settled } from "./dom.js";
import { grade, nextStale, nextUnjudged, undo, wireNote } from "./judging.js";
import { listen } from "./keys.js";
import { prepareNarrative, showGauge } from "./narrative.js";
import { alarm, look, refused, saved, showSaving } from "./news.js";
import { showDocument } from "./reading.js";
import { ask, Queue } from "./server.js";
import { current, page } from "./state.js";
import { done, prepareTopics } from "./topics.js";
import { go, leave, show, step, stepTopic, view } from "./walking.js";

const PULSE = 5000; // ms between looks at the server while the page is in view

async function start() {
  if (!Intl.Segmenter) {
    alarm("This browser is too old to divide text into words; use one of 2024 or later.");
    return;
  }
  try {
    page.task = await ask("/api/task");
  } catch (error) {
    alarm(error.message || "The server does not answer. Start python -m pipelines.annotate again, then reload.");
    return;
  }
  byId("pool").textContent = page.task.pool;
  document.title = `${page.task.pool}: annotate`;
  page.tab = page.task.judged.includes("original") ? "original" : "changed";
  page.queue = new Queue(`heed-${page.task.name}`, { tell: showSaving, done: saved, refused });
  page.queue.run();
  const remark = settled(200, () => showDocument());
  prepareNarrative(() => {
    showGauge();
    remark();
  });
  prepareTopics((qid) => go({ qid }));
  prepareAgreement((qid, docid, tab) => go({ qid, docid, tab }));
  wireKeys();
  wirePage();
  wireNote();
  const name = sessionStorage.getItem("heed-assessor") || page.task.assessor;
  if (name) await enter(name);
  else askName();
}

function askName() {
  byId("known").replaceChildren(
    ...page.task.assessors.map((name) =>
      make("button", { type: "button", onclick: () => enter(name) }, make("bdi", {}, name)),
    ),
  );
  byId("name").value = localStorage.getItem("heed-name") ?? "";
  byId("name-problem").textContent = "";
  byId("ask").showModal();
  byId("name").select();
}

function problemOf(name) {
  if (name.toLowerCase() === "adjudicated")
    return "This name stands for decisions where assessors differ; choose another.";
  const seen = /^[\P{C}\u200C\u200D]+$/u.test(name); // joiners are letters' parts in Persian names
  return seen ? "" : "Give a name that can be seen.";
}

/** Start judging under a name, at the place that the address tells, else at the first topic that is not done. */
async function enter(typed) {
  const name = typed.trim().replace(/\s+/g, " ");
  const problem = problemOf(name);
  byId("name-problem").textContent = problem;
  if (problem) return;
  if (byId("ask").open) byId("ask").close();
  if (page.topic) leave();
  const place = new URLSearchParams(page.topic ? "" : location.hash.slice(1));
  page.assessor = name;
  page.topic = null; // what is in view is another assessor's
  page.progress = null;
  if (!page.task.assessors.includes(name)) page.task.assessors.push(name);
  sessionStorage.setItem("heed-assessor", name);
  localStorage.setItem("heed-name", name);
  byId("who").replaceChildren(make("bdi", {}, name));
  view(false);
  await look(true);
  const known = page.task.topics.some((one) => one.qid === place.get("topic"));
  const qid = known ? place.get("topic") : firstOpen();
  await go({ qid, docid: place.get("doc"), tab: place.get("tab") ?? page.tab });
  if (place.get("view") === "agreement") view(true);
}

function firstOpen() {
  const [tab] = page.task.judged;
  return (page.task.topics.find((one) => done(one.qid)[tab] < one.documents) ?? page.task.topics[0]).qid;
}

function toggle(name, kept) {
  page[name] = !page[name];
  if (kept) localStorage.setItem(`heed-${name}`, page[name] ? "on" : "off");
  showDocument();
}

function wireKeys() {
  const working = {
    u: undo,
    x: () => grade(null),
    n: nextUnjudged,
    N: nextStale,
    j: () => step(1),
    k: () => step(-1),
    "]": () => stepTopic(1),
    "[": () => stepTopic(-1),
    o: () => go({ docid: current()?.docid, tab: "original" }),
    c: () => go({ docid: current()?.docid, tab: "changed" }),
    e: () => byId("editor").focus(),
    "/": () => byId("note").focus(),
    h: () => toggle("marks", true),
    r: () => toggle("raw"),
    t: () => document.body.classList.toggle("no-topics"),
  };
  const actions = { a: () => view(byId("agreement").hidden), "?": () => byId("help").showModal() };
  for (const [key, act] of Object.entries(working)) {
    actions[key] = () => {
      if (page.topic && !byId("workbench").hidden) act();
    };
  }
  listen(actions, grade);
  const buttons = {
    previous: "k",
    following: "j",
    unjudged: "n",
    undo: "u",
    "tab-original": "o",
    "tab-changed": "c",
    "topics-button": "t",
    "agreement-button": "a",
    "help-button": "?",
  };
  for (const [id, key] of Object.entries(buttons)) byId(id).addEventListener("click", actions[key]);
}

function wirePage() {
  byId("who").addEventListener("click", askName);
  byId("ask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    enter(byId("name").value);
  });
  byId("ask").addEventListener("cancel", (event) => {
    if (!page.assessor) event.preventDefault();
  });
  byId("grades").addEventListener("click", (event) => {
    const button = event.target.closest("[data-grade]");
    if (button) grade(Number(button.dataset.grade));
  });
  byId("strip").addEventListener("click", (event) => {
    const button = event.target.closest("[data-at]");
    if (button) step(Number(button.dataset.at) - page.at);
  });
  byId("agreement").addEventListener("click", (event) => {
    if (!event.target.closest(".back")) return;
    event.preventDefault();
    view(false);
    show();
  });
  byId("advance").checked = page.advance;
  byId("advance").addEventListener("change", () => {
    page.advance = byId("advance").checked;
    localStorage.setItem("heed-advance", page.advance ? "on" : "off");
  });
  setInterval(() => {
    if (!document.hidden) look();
  }, PULSE);
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : look()));
  addEventListener("beforeunload", (event) => {
    leave();
    if (page.queue.count && page.queue.failures) event.preventDefault();
  });
}

history.replaceState(null, "", `/${location.hash}`); // the token out of sight: a cookie has it now
start();
