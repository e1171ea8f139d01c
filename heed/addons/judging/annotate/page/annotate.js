// The page as a whole: who judges, and what keys and buttons do.

import { decideShown, nextUndecided, prepareAgreement, stepItem } from "./agreement.js";
import { wireNote } from "./changes.js";
import { byId, debounced, make, toast } from "./dom.js";
import { afterEdit, grade, keepStale, markPassage, nextAgain, nextDue, skip, toggleScope, toggleUnsure, undo } from "./judging.js";
import { prepareGuidelines, toggleGuidelines } from "./guidelines.js";
import { listen } from "./keys.js";
import { editNarrative, prepareNarrative, showGauge } from "./narrative.js";
import { followHistory, go, saveEdits, setView, show, step, stepTopic } from "./navigation.js";
import { showNotice } from "./notice.js";
import { choices } from "./passages.js";
import { showDocument, showStrip } from "./reading.js";
import { get, post, Queue } from "./server.js";
import { watchDocument } from "./shown.js";
import { current, judgementOf, page } from "./state.js";
import { isOpen, prepareTopics } from "./topics.js";
import { poll, refused, saved, showAlarm, showSaving } from "./updates.js";

const POLL_INTERVAL = 5000; // ms, while the page is visible

/** Return the token of a person's own link, from the part of the address that is sent to no server. */
const linkToken = () => new URLSearchParams(location.hash.slice(1)).get("token");

async function start() {
  if (!Intl.Segmenter) {
    showAlarm("This browser is too old to divide text into words; use one of 2024 or later.");
    return;
  }
  byId("unusable").remove();
  byId("top").hidden = false;
  try {
    const token = linkToken();
    history.replaceState(null, "", token ? "/" : `/${location.hash}`); // hide tokens: a cookie keeps them
    if (token) await post("/api/enter", { token });
    page.task = await get("/api/task");
  } catch (error) {
    showAlarm(error.message || "The server does not answer. Start heed annotate again, then reload.");
    return;
  }
  byId("pool").textContent = page.task.pool;
  byId("pool").title = page.task.pool;
  document.title = `${page.task.pool}: annotate`;
  page.tab = page.task.judged.includes("original") ? "original" : "changed";
  const { name: task, known, assessor, adjudicates } = page.task;
  byId("who").disabled = known;
  byId("agreement-button").hidden = !adjudicates;
  page.queue = new Queue(`heed-${task}`, { update: showSaving, saved, refused }, known ? assessor : "");
  if (page.queue.count) toast("What was not saved when this page was closed is sent now.");
  page.queue.run();
  const updateMarks = debounced(200, () => showDocument());
  const edited = () => {
    showGauge();
    showStrip();
    showNotice();
    updateMarks();
  };
  prepareGuidelines();
  prepareNarrative({ edited, undecided: showSaving });
  watchDocument();
  followHistory();
  prepareTopics((qid) => {
    document.body.classList.remove("no-topics"); // in a small window the list lies over the rest
    go({ qid });
  });
  prepareAgreement((qid, docid, tab) => {
    setView(false);
    go({ qid, docid, tab });
  });
  wireKeys();
  wirePage();
  wireNote();
  const name = (!known && sessionStorage.getItem("heed-assessor")) || assessor;
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
    return "This name is reserved for decisions where assessors differ; choose another.";
  const visible = /^[\P{C}\u200C\u200D]+$/u.test(name); // joiners are letters' parts in Persian names
  return visible ? "" : "Give a name of visible characters.";
}

/** Start judging under a name, at the address's topic and document, else at the first unfinished topic. */
async function enter(typed) {
  const name = typed.trim().replace(/\s+/g, " ");
  const problem = problemOf(name);
  byId("name-problem").textContent = problem;
  if (problem) return;
  if (byId("ask").open) byId("ask").close();
  if (page.topic) saveEdits();
  const place = new URLSearchParams(page.topic ? "" : location.hash.slice(1));
  page.assessor = name;
  page.topic = null; // what is in view is another assessor's
  page.progress = null;
  if (!page.task.assessors.includes(name)) page.task.assessors.push(name);
  sessionStorage.setItem("heed-assessor", name);
  localStorage.setItem("heed-name", name);
  byId("who").replaceChildren(make("bdi", {}, name));
  setView(false);
  await poll(true);
  page.topics = page.task.topics.filter(({ qid }) => !page.progress || page.progress.topics[qid]);
  if (!page.topics.length && page.task.adjudicates) return setView(true); // all are assigned to others
  if (!page.topics.length)
    return byId("document").replaceChildren(make("p", { class: "empty" }, "No topic is assigned to you."));
  const known = page.topics.some((topic) => topic.qid === place.get("topic"));
  const first = known ? { qid: place.get("topic"), tab: place.get("tab") ?? page.tab } : firstOpen();
  await go({ ...first, docid: place.get("doc") });
  const [qid, docid] = [place.get("topic"), place.get("doc")];
  if (qid && !known) toast(`Topic ${qid} is not among your topics in this pool.`);
  else if (qid && docid && current()?.docid !== docid) toast(`Document ${docid} is not in this pool for topic ${qid}.`);
  if (place.get("view") === "agreement" && page.task.adjudicates) setView(true);
}

/** Return the first topic and tab with documents to judge, else the first topic. */
function firstOpen() {
  const { judged } = page.task;
  for (const tab of judged) {
    const topic = page.topics.find((each) => isOpen(each, tab));
    if (topic) return { qid: topic.qid, tab };
  }
  return { qid: page.topics[0].qid, tab: judged[0] };
}

function toggle(name, stored) {
  page[name] = !page[name];
  if (stored) localStorage.setItem(`heed-${name}`, page[name] ? "on" : "off");
  showDocument();
}

function wireKeys() {
  const onWorkbench = {
    u: undo,
    x: () => grade(null),
    m: toggleUnsure,
    s: skip,
    p: () => markPassage(choices.next),
    P: () => markPassage(choices.previous),
    l: () => markPassage(choices.longer),
    d: () => markPassage(choices.none),
    n: nextDue,
    N: nextAgain,
    g: toggleScope,
    j: () => step(1),
    k: () => step(-1),
    "]": () => stepTopic(1),
    "[": () => stepTopic(-1),
    o: () => go({ docid: current()?.docid, tab: "original" }),
    c: () => go({ docid: current()?.docid, tab: "changed" }),
    e: editNarrative,
    "/": () => byId("note").focus(),
    h: () => toggle("marks", true),
    r: () => toggle("raw"),
    t: () => document.body.classList.toggle("no-topics"),
  };
  const onAgreement = { x: () => decideShown(null), n: nextUndecided, j: () => stepItem(1), k: () => stepItem(-1) };
  const isAgreement = () => !byId("agreement").hidden;
  const showOther = () => page.task.adjudicates && (page.topic || !isAgreement()) && setView(!isAgreement());
  const actions = { a: showOther, i: toggleGuidelines, "?": () => byId("help").showModal() };
  for (const [key, act] of Object.entries(onWorkbench)) {
    actions[key] = () => {
      if (isAgreement()) onAgreement[key]?.();
      else if (page.topic && !byId("workbench").hidden) act();
    };
  }
  const giveGrade = (value) => (isAgreement() ? decideShown(value) : grade(value));
  listen(actions, giveGrade, (field) => {
    if (field.id === "editor") afterEdit();
  });
  const buttons = {
    previous: "k",
    following: "j",
    unjudged: "n",
    undo: "u",
    unsure: "m",
    skip: "s",
    "tab-original": "o",
    "tab-changed": "c",
    "topics-button": "t",
    "agreement-button": "a",
    "guidelines-button": "i",
    "help-button": "?",
  };
  for (const [id, key] of Object.entries(buttons)) byId(id).addEventListener("click", actions[key]);
}

/** Call `act` with the element that matches `selector` when it, or something in it, is clicked inside `id`. */
function onClick(id, selector, act) {
  byId(id).addEventListener("click", (event) => {
    const element = event.target.closest(selector);
    if (element) act(element);
  });
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
  onClick("grades", "[data-grade]", (button) => grade(Number(button.dataset.grade)));
  byId("marks").addEventListener("mousedown", (event) => event.preventDefault()); // what is selected stays so
  byId("passage").addEventListener("click", () => {
    const isKept = !judgementOf(current()).passage || !getSelection().isCollapsed;
    markPassage(isKept ? choices.next : choices.none);
  });
  onClick("strip", "[data-at]", (button) => step(Number(button.dataset.at) - page.index));
  const actions = {
    again: nextAgain,
    edit: editNarrative,
    keep: keepStale,
    original: () => go({ tab: "original" }),
    next: nextDue,
    scope: toggleScope,
  };
  onClick("notice", "[data-action]", (button) => actions[button.dataset.action]());
  onClick("agreement", ".back", () => {
    setView(false);
    show();
  });
  byId("advance").checked = page.advance;
  byId("advance").addEventListener("change", () => {
    page.advance = byId("advance").checked;
    localStorage.setItem("heed-advance", page.advance ? "on" : "off");
  });
  setInterval(() => {
    if (!document.hidden) poll();
  }, POLL_INTERVAL);
  document.addEventListener("visibilitychange", () => (document.hidden ? saveEdits() : poll()));
  addEventListener("beforeunload", (event) => {
    saveEdits();
    if (page.queue.count && page.queue.failures) event.preventDefault();
  });
}

addEventListener("hashchange", () => linkToken() && location.reload()); // another link, opened in this tab
start();
