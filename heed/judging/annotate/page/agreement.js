// The agreement page: κ of assessors, and their disagreements, to be decided.

import { byId, make, setLanguage, toast } from "./dom.js";
import { get, newId } from "./server.js";
import { labelOf, page, shade, topicOf } from "./state.js";

const ADJUDICATED = "adjudicated";
let openDocument = () => {};
let opened = ""; // the disagreement that was opened last, to come back to

/** Set the function that is called with topic, document and condition of a disagreement that is clicked. */
export function prepareAgreement(open) {
  openDocument = open;
}

/** Draw the agreement page. */
export async function showAgreement() {
  const place = byId("agreement");
  try {
    const data = await get("/api/agreement", { assessor: page.assessor });
    place.replaceChildren(...content(data));
    [...place.querySelectorAll("a[data-key]")].find((link) => link.dataset.key === opened)?.focus();
  } catch (error) {
    place.replaceChildren(make("p", { class: "empty" }, error.message || "The server does not answer."));
  }
}

const remark = (text) => make("p", { class: "soft" }, text);

function content({ pairs, count, open, disagreements }) {
  const head = [make("button", { class: "back" }, "‹ Back to judging"), make("h1", {}, "Agreement of assessors")];
  if (!pairs.length) {
    return [
      ...head,
      remark("No two assessors have graded the same document yet; a second one starts with another name."),
    ];
  }
  const numbers = make("span", { class: "soft" });
  const decided = () => disagreements.filter((item) => item.decision !== null).length;
  const decidedBefore = decided();
  const showNumbers = () => {
    numbers.textContent = ` ${count}, ${open - decided() + decidedBefore} to be decided`;
  };
  showNumbers();
  const parts = [
    ...head,
    pairTable(pairs),
    remark(
      "Cohen's κ is agreement beyond chance, 1 at most; linear κ weights a disagreement by its distance on the scale.",
    ),
    make("h2", {}, "Disagreements", numbers),
  ];
  if (count)
    parts.push(remark("The grade you press is exported for all assessors together; pressed again, it is taken back."));
  parts.push(...disagreements.map((item) => disagreement(item, showNumbers)));
  if (count > disagreements.length)
    parts.push(remark(`The first ${disagreements.length} are shown; the export lists all.`));
  return parts;
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

function disagreement(item, onDecision) {
  const { query, language } = topicOf(item.qid);
  const key = [item.qid, item.condition, item.docid].join(" ");
  const open = (event) => {
    event.preventDefault();
    opened = key;
    openDocument(item.qid, item.docid, item.condition);
  };
  const docid = make("span", { class: "id" }, make("bdi", {}, item.docid));
  const title = make("a", { href: "#", "data-key": key, onclick: open }, make("bdi", {}, item.title || item.docid));
  const topic = [make("span", { class: "id" }, item.qid), setLanguage(make("bdi", {}, query), language)];
  const buttons = make("span", { role: "group", class: "decision", "aria-label": "Decision" });
  const section = make(
    "section",
    { class: "disagreement" },
    make("p", { class: "what" }, ...topic, make("span", { class: "condition" }, item.condition)),
    make("p", {}, setLanguage(title, page.task.documents), " ", docid),
    make("p", { class: "row" }, ...givenGrades(item), make("span", { class: "spring" }), buttons),
  );
  const show = () => {
    buttons.replaceChildren(...page.task.scale.map((grade) => decision(item, grade, () => (show(), onDecision()))));
    section.toggleAttribute("data-decided", item.decision !== null);
  };
  show();
  return section;
}

function givenGrades({ grades, notes }) {
  return Object.entries(grades).map(([name, grade]) => {
    const note = notes[name] ? [make("q", {}, make("bdi", {}, notes[name]))] : [];
    const square = make("b", { "data-shade": shade(grade), title: labelOf(grade) }, String(grade));
    return make("span", { class: "given" }, make("bdi", {}, name), square, ...note);
  });
}

function decision(item, { grade, label: title }, onDecision) {
  const pressed = String(item.decision === grade);
  const onclick = () => decide(item, grade, onDecision);
  return make("button", { title, "data-grade": grade, "aria-pressed": pressed, onclick }, String(grade));
}

async function decide(item, grade, onDecision) {
  const wording = await wordingOf(item.qid);
  if (wording === null) return;
  const { qid, docid, condition } = item;
  const change = { kind: "grade", qid, docid, condition, grade: item.decision === grade ? null : grade };
  page.queue.push("/api/changes", { id: newId(), assessor: ADJUDICATED, changes: [change], wording });
  item.decision = change.grade;
  onDecision();
}

async function wordingOf(qid) {
  try {
    return (await get("/api/topic", { assessor: page.assessor, qid })).changed;
  } catch {
    toast("The server does not answer; decide again when it is back.");
    return null;
  }
}
