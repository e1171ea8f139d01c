// The agreement page: κ of assessors, and their disagreements, to be decided.

import { difference } from "./diff.js";
import { byId, make, setLanguage, toast } from "./dom.js";
import { analyse, patience } from "./marking.js";
import { editMark } from "./narrative.js";
import { highlight } from "./passages.js";
import { fetchDocument, markedText, versionOf } from "./reading.js";
import { get, newId } from "./server.js";
import { documentLanguage, labelOf, page, shade, topicOf } from "./state.js";

const ADJUDICATED = "adjudicated";
let openDocument = () => {};
let items = []; // the disagreements on the page
let opened = ""; // the disagreement that was opened last, to come back to

/** Set the function that is called with topic, document and condition of a disagreement that is clicked. */
export function prepareAgreement(open) {
  openDocument = open;
}

/** Draw the agreement page. */
export async function showAgreement() {
  const place = byId("agreement");
  items = [];
  try {
    const data = await get("/api/agreement", { assessor: page.assessor });
    place.replaceChildren(...content(data));
    const before = items.findIndex(({ key }) => key === opened);
    if (before < 0) nextUndecided();
    else {
      showItem(before);
      items[before].section.querySelector("a")?.focus();
    }
  } catch (error) {
    place.replaceChildren(make("p", { class: "empty" }, error.message || "The server does not answer."));
  }
}

const remark = (text) => make("p", { class: "soft" }, text);

function content(data) {
  const { pairs, count, blind, disagreements } = data;
  const back = page.topic ? [make("button", { class: "back" }, "‹ Back to judging")] : [];
  const head = [...back, make("h1", {}, "Agreement of assessors"), progressList(data.progress)];
  if (blind) head.push(remark("Your topics are judged blind: grades of others are shown once they are decided."));
  else if (pairs.length) head.push(pairTable(pairs), remark(KAPPA));
  else head.push(remark("No two assessors have graded the same document yet."));
  if (!count) return head;
  const numbers = make("span", { class: "soft" });
  const before = data.open - disagreements.filter(isUndecided).length; // those that are not shown
  const showNumbers = () => {
    numbers.textContent = ` ${count}, ${before + disagreements.filter(isUndecided).length} to be decided`;
  };
  showNumbers();
  const parts = [...head, make("h2", {}, "Disagreements", numbers)];
  const labels = page.task.scale.map(({ grade, label }) => `${grade} ${label}`).join(" · ");
  if (!blind) parts.push(remark(DECIDING), remark(labels));
  items = disagreements.map((item) => newItem(item, data, showNumbers));
  parts.push(...items.map(({ section }) => section));
  if (count > items.length) parts.push(remark(`The first ${items.length} are shown; the export lists all.`));
  return parts;
}

const KAPPA =
  "Cohen's κ is agreement beyond chance, 1 at most; linear κ weights a disagreement by the places between its grades on the scale.";
const DECIDING =
  "The grade you press is exported for all assessors together; pressed again, it is taken back. Keys are those of the " +
  "judging page: a grade decides, j and k move, n goes to the next one to be decided.";
const isUndecided = (item) => item.decision === null;

function progressList(lines) {
  const items = lines.map((line) => make("li", { dir: "auto" }, line));
  return make("ul", { class: "progress soft", "aria-label": "Progress of assessors" }, ...items);
}

// κ

const rounded = (value) => (value === null ? "–" : value.toFixed(3).replace("-", "−"));
const percent = (value) => (value === null ? "–" : `${Math.round(100 * value)}%`);
const numberCells = (texts) => texts.map((text) => make("td", { class: "number" }, text));

function pairTable(pairs) {
  const heads = [
    "assessors",
    "narrative",
    "documents",
    "equal",
    "κ",
    "linear κ",
    "other wording",
    "first (rows) and second",
  ];
  const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)));
  const table = make("table", { class: "pairs" }, make("thead", {}, head), make("tbody", {}, ...pairs.map(pairRow)));
  return make("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Agreement of pairs" }, table);
}

function pairRow({ first, second, condition, reworded, agreement }) {
  const { n, observed, kappa, weighted, matrix } = agreement;
  return make(
    "tr",
    {},
    make("td", {}, make("bdi", {}, first), " · ", make("bdi", {}, second)),
    make("td", {}, condition),
    ...numberCells([String(n), percent(observed), rounded(kappa), rounded(weighted), reworded ? String(reworded) : ""]),
    make("td", {}, matrixTable(matrix)),
  );
}

function matrixTable(counts) {
  const grades = page.task.scale.map((known) => String(known.grade));
  const most = Math.max(1, ...counts.flat());
  const cell = (count, equal) => {
    const element = make("td", { class: equal ? "equal" : "unequal" }, count ? String(count) : "");
    element.style.setProperty("--share", String(count / most));
    return element;
  };
  const head = make("tr", {}, make("td"), ...grades.map((grade) => make("th", { scope: "col" }, grade)));
  const rows = counts.map((row, i) => {
    const cells = row.map((count, j) => cell(count, i === j));
    return make("tr", {}, make("th", { scope: "row" }, grades[i]), ...cells);
  });
  return make("table", { class: "matrix" }, make("thead", {}, head), make("tbody", {}, ...rows));
}

// Disagreements

/** Return a disagreement with its section of the page and what draws its decision. */
function newItem(item, { blind, narratives }, onDecision) {
  const { query, description, language } = topicOf(item.qid);
  const key = [item.qid, item.condition, item.docid].join(" ");
  const open = (event) => {
    event.preventDefault();
    opened = key;
    openDocument(item.qid, item.docid, item.condition);
  };
  const isMine = page.topics.some(({ qid }) => qid === item.qid);
  const name = make("bdi", {}, item.title || item.docid);
  const title = isMine ? make("a", { href: "#", "data-key": key, onclick: open }, name) : make("b", {}, name);
  const docid = item.title ? [" ", make("span", { class: "id" }, make("bdi", {}, item.docid))] : [];
  const topic = [make("span", { class: "id" }, item.qid), setLanguage(make("bdi", {}, query), language)];
  const buttons = make("span", { role: "group", class: "decision", "aria-label": "Decision" });
  const evidence = make("div", { class: "evidence", hidden: true });
  const select = () => showItem(items.findIndex((each) => each.key === key));
  const section = make(
    "section",
    { class: "disagreement", tabindex: -1, onclick: select },
    make("p", { class: "what" }, ...topic, make("span", { class: "condition" }, item.condition)),
    make("p", {}, setLanguage(title, documentLanguage(item.qid)), ...docid),
    ...(item.original ? [gradesBefore(item)] : []),
    make("p", { class: "row" }, ...givenGrades(item), ...givenGrades({ grades: item.models }), make("span", { class: "spring" }), buttons),
    evidence,
  );
  const { original, changed } = narratives[item.qid];
  const edited = item.condition === "changed" ? difference(original, changed, language.tag).map(editMark) : [original];
  const texts = [[description], edited].filter((children) => children.join(""));
  const topicText = texts.map((children) => setLanguage(make("p", { class: "text" }, ...children), language));
  const view = { qid: item.qid, original, changed, tab: item.condition };
  const drawn = { item, key, section, evidence, topicText, view, blind, isDrawn: false };
  drawn.show = () => {
    const by = item.decided_by && !isUndecided(item) ? [remark(`decided by ${item.decided_by}`)] : [];
    buttons.replaceChildren(...by, ...(blind ? [] : page.task.scale.map((grade) => decision(drawn, grade))));
    section.toggleAttribute("data-decided", !isUndecided(item));
    onDecision();
  };
  drawn.show();
  return drawn;
}

/** Return the grades before the edit that a disagreement is about. */
function gradesBefore({ original }) {
  const grades = Object.keys(original).length ? givenGrades({ grades: original }) : ["none"];
  return make("p", { class: "row soft" }, "Under the original narrative:", ...grades);
}

function givenGrades({ grades, notes = {}, marks = {} }) {
  return Object.entries(grades).map(([name, grade]) => {
    const { unsure, passage } = marks[name] ?? {};
    const note = notes[name] ? [make("q", {}, make("bdi", {}, notes[name]))] : [];
    if (passage) note.push(make("span", { class: "passage", title: passage.text }, make("bdi", {}, `“${passage.text}”`)));
    const title = `${labelOf(grade)}${unsure ? ", unsure" : ""}`;
    const square = make("b", { "data-shade": shade(grade), title }, `${grade}${unsure ? "?" : ""}`);
    return make("span", { class: "given" }, make("bdi", {}, name), square, ...note);
  });
}

function decision(drawn, { grade, label: title }) {
  const pressed = String(drawn.item.decision === grade);
  const onclick = () => decide(drawn, drawn.item.decision === grade ? null : grade);
  return make("button", { title, "data-grade": grade, "aria-pressed": pressed, onclick }, String(grade));
}

/** Show a disagreement's narrative and document under it, and those of no other. */
async function showItem(index) {
  if (!items[index] || index === shownItem()) return;
  for (const { evidence, section } of items) {
    evidence.hidden = true;
    section.removeAttribute("aria-current");
  }
  const drawn = items[index];
  drawn.section.setAttribute("aria-current", "true");
  drawn.evidence.hidden = false;
  drawn.section.focus({ preventScroll: true });
  drawn.section.scrollIntoView({ block: "nearest" });
  try {
    const data = await fetchDocument(drawn.item.docid);
    const passages = Object.values(drawn.item.marks).flatMap(({ passage }) => passage ?? []);
    if (page.marks) await patience(analyse(data, drawn.view));
    if (drawn.evidence.hidden) return; // another one is shown by now
    const { body, key } = markedText(data, drawn.view);
    const text = make("div", { class: "document", tabindex: 0, role: "region", "aria-label": "Document" });
    text.append(make("p", { class: "facts" }, ...key), ...body);
    drawn.evidence.replaceChildren(make("div", {}, ...drawn.topicText), text);
    highlight("passages", data, text, passages);
    drawn.isDrawn = true;
    drawn.section.scrollIntoView({ block: "nearest" });
  } catch {
    toast("The server does not answer; this document cannot be shown now.");
  }
}

const shownItem = () => items.findIndex(({ evidence }) => !evidence.hidden);

/** Show the disagreement `distance` after the one that is shown. */
export const stepItem = (distance) => showItem(Math.min(shownItem() + distance, items.length - 1));

/** Show the next disagreement that is to be decided, cyclically, if there is any. */
export function nextUndecided() {
  const first = shownItem() + 1;
  const order = items.map((_, i) => (first + i) % items.length);
  showItem(order.find((index) => isUndecided(items[index].item)) ?? (first ? -1 : 0));
}

/** Decide the disagreement that is shown; null takes the decision back. What has not been shown is not decided. */
export function decideShown(grade) {
  const drawn = items[shownItem()];
  if (!drawn || drawn.blind || drawn.item.decision === grade) return;
  const grades = page.task.scale.map((known) => known.grade);
  if (grade !== null && !grades.includes(grade)) toast(`${grade} is not a grade here; expected ${grades.join(", ")}.`);
  else if (!drawn.isDrawn) toast("This document is not decided: it is not on the page.", true);
  else {
    decide(drawn, grade);
    if (grade !== null && page.advance) nextUndecided();
  }
}

function decide({ item, view, show }, grade) {
  const { qid, docid, condition } = item;
  const changes = [{ kind: "grade", qid, docid, condition, grade, read: versionOf(docid) }];
  const wording = condition === "changed" ? view.changed : "";
  page.queue.push("/api/changes", { id: newId(), assessor: ADJUDICATED, by: page.assessor, changes, wording });
  item.decision = grade;
  item.decided_by = page.assessor;
  show();
}
