// How far assessors agree, and the documents on which they do not, to be decided.

import { byId, make, speak, toast } from "./dom.js";
import { ask, newId } from "./server.js";
import { about, label, page, shade } from "./state.js";

const ADJUDICATED = "adjudicated";
let visit = () => {};

/** `open` is called with topic, document and condition of a disagreement that is to be looked at. */
export function prepareAgreement(open) {
  visit = open;
}

/** Draw the page of agreement. */
export async function showAgreement() {
  const place = byId("agreement");
  try {
    const found = await ask("/api/agreement", { assessor: page.assessor });
    place.replaceChildren(...drawn(found));
  } catch (error) {
    place.replaceChildren(make("p", { class: "empty" }, error.message || "The server does not answer."));
  }
}

const told = (text) => make("p", { class: "soft" }, text);

function drawn(found) {
  const head = [make("button", { class: "back" }, "‹ Back to judging"), make("h1", {}, "Agreement of assessors")];
  if (!found.pairs.length) {
    return [
      ...head,
      told("No two assessors have graded the same document yet; a second one starts with another name."),
    ];
  }
  const counted = make("span", { class: "soft" });
  const count = () => {
    const open = found.open - shown.filter((one) => one.decision !== null).length + decidedBefore;
    counted.textContent = ` ${found.count}, ${open} to be decided`;
  };
  const shown = found.disagreements;
  const decidedBefore = shown.filter((one) => one.decision !== null).length;
  count();
  const parts = [
    ...head,
    pairTable(found.pairs),
    told(
      "Cohen's κ is the agreement beyond chance, 1 at most; linear κ forgives neighbouring grades more than distant ones.",
    ),
    make("h2", {}, "Disagreements", counted),
  ];
  if (found.count)
    parts.push(told("The grade you press stands in the export of all assessors; pressed again, it is taken back."));
  parts.push(...shown.map((one) => disagreement(one, count)));
  if (found.count > shown.length) parts.push(told(`The first ${shown.length} are shown; the export lists all.`));
  return parts;
}

// κ

const rounded = (value) => (value === null ? "–" : value.toFixed(3).replace("-", "−"));
const percent = (value) => (value === null ? "–" : `${Math.round(100 * value)}%`);
const numbers = (texts) => texts.map((text) => make("td", { class: "number" }, text));

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
  const head = make("tr", {}, ...heads.map((one) => make("th", { scope: "col" }, one)));
  const made = make("table", { class: "pairs" }, make("thead", {}, head), make("tbody", {}, ...pairs.map(pairRow)));
  return make("div", { class: "table" }, made);
}

function pairRow({ first, second, condition, reworded, agreement }) {
  const { n, observed, kappa, weighted, matrix } = agreement;
  return make(
    "tr",
    {},
    make("td", {}, make("bdi", {}, first), " · ", make("bdi", {}, second)),
    make("td", {}, condition),
    ...numbers([String(n), percent(observed), rounded(kappa), rounded(weighted), reworded ? String(reworded) : ""]),
    make("td", {}, matrixTable(matrix)),
  );
}

function matrixTable(counts) {
  const grades = page.task.scale.map((one) => String(one.grade));
  const most = Math.max(1, ...counts.flat());
  const cell = (count, equal) => {
    const made = make("td", { class: equal ? "equal" : "unequal" }, count ? String(count) : "");
    made.style.setProperty("--share", String(count / most));
    return made;
  };
  const head = make("tr", {}, make("th"), ...grades.map((one) => make("th", { scope: "col" }, one)));
  const rows = counts.map((row, i) => {
    const cells = row.map((count, j) => cell(count, i === j));
    return make("tr", {}, make("th", { scope: "row" }, grades[i]), ...cells);
  });
  return make("table", { class: "matrix" }, make("thead", {}, head), make("tbody", {}, ...rows));
}

// Disagreements

function disagreement(one, changed) {
  const { query, language } = about(one.qid);
  const open = (event) => {
    event.preventDefault();
    visit(one.qid, one.docid, one.condition);
  };
  const docid = make("span", { class: "id" }, make("bdi", {}, one.docid));
  const title = make("a", { href: "#", onclick: open }, make("bdi", {}, one.title || one.docid));
  const what = [make("span", { class: "id" }, one.qid), speak(make("bdi", {}, query), language)];
  const buttons = make("span", { role: "group", class: "decision", "aria-label": "Decision" });
  const made = make(
    "section",
    { class: "disagreement" },
    make("p", { class: "what" }, ...what, make("span", { class: "condition" }, one.condition)),
    make("p", {}, speak(title, page.task.documents), " ", docid),
    make("p", { class: "row" }, ...given(one), make("span", { class: "spring" }), buttons),
  );
  const show = () => {
    buttons.replaceChildren(...page.task.scale.map((grade) => decision(one, grade, () => (show(), changed()))));
    made.toggleAttribute("data-decided", one.decision !== null);
  };
  show();
  return made;
}

function given(one) {
  return Object.entries(one.grades).map(([name, grade]) => {
    const note = one.notes[name] ? [make("q", {}, make("bdi", {}, one.notes[name]))] : [];
    const shown = make("b", { "data-shade": shade(grade), title: label(grade) }, String(grade));
    return make("span", { class: "given" }, make("bdi", {}, name), shown, ...note);
  });
}

function decision(one, { grade, label: title }, decided) {
  const pressed = String(one.decision === grade);
  const onclick = () => decide(one, grade, decided);
  return make("button", { title, "data-grade": grade, "aria-pressed": pressed, onclick }, String(grade));
}

async function decide(one, grade, decided) {
  const wording = await wordingOf(one.qid);
  if (wording === null) return;
  const { qid, docid, condition } = one;
  const change = { kind: "grade", qid, docid, condition, grade: one.decision === grade ? null : grade };
  page.queue.push("/api/changes", { id: newId(), assessor: ADJUDICATED, changes: [change], wording });
  one.decision = change.grade;
  decided();
}

async function wordingOf(qid) {
  try {
    return (await ask("/api/topic", { assessor: page.assessor, qid })).changed;
  } catch {
    toast("The server does not answer; decide again when it is back.");
    return null;
  }
}
