// A system's lists under two conditions side by side, and the documents that should have fallen.

import { make } from "../../../report/page/shared/dom.js";
import { dueOf, gradeOf, moved, outcomeOf, rankIn, rankingOf, shouldFall } from "./ranks.js";

export const SIGNS = { rose: "▲", fell: "▼", stayed: "=" };
const MARKS = { right: " ✓", wrong: " ✗" };
const DIGITS = 4; // of a score; its tooltip has all

/** Return the lists of `system` under each of `conditions`; `link(place, condition)` is a document's address. */
export function rankingColumns(topic, system, conditions, link) {
  const columns = conditions.map((condition) => column(topic, system, condition, conditions, link));
  return make("div", { class: "columns", "data-count": columns.length }, ...columns);
}

function column(topic, system, condition, conditions, link) {
  const own = rankingOf(topic, system, condition);
  const heading = make("h3", {}, condition, " ", make("span", { class: "soft" }, own ? `${own.length} documents` : ""));
  if (!own) return make("section", {}, heading, make("p", { class: "soft" }, "This system found nothing here."));
  const other = conditions.find((name) => name !== condition);
  const otherList = other ? rankingOf(topic, system, other) : null;
  const items = own.documents.map((place, i) => {
    const shift = otherList ? shiftOf(topic, own, otherList, place, conditions, condition) : "";
    const gap = i > 0 && own.ranks[i] > own.ranks[i - 1] + 1;
    const score = own.scores[i];
    return make(
      "li",
      { "data-gap": gap },
      documentLink(topic, place, conditions, link(place, condition), [
        make("span", { class: "rank" }, String(own.ranks[i])),
        shift,
        score === undefined ? "" : make("span", { class: "score", title: `score ${score}` }, String(Number(score.toPrecision(DIGITS)))),
      ]),
    );
  });
  return make("section", { "aria-label": `${system}, ${condition}` }, heading, make("ol", { class: "ranking" }, ...items));
}

/** Return how the document moved from the first condition to the second, in either column. */
function shiftOf(topic, own, other, place, conditions, condition) {
  const [here, there] = [rankIn(topic, own, place), rankIn(topic, other, place)];
  const [from, to] = condition === conditions[0] ? [here, there] : [there, here];
  const { verdict, by } = moved(from.rank, to.rank);
  return shiftMark(verdict, `${SIGNS[verdict]}${by || ""}`, `${from.text} → ${to.text}`, dueOf(topic, conditions, place));
}

/** Return the mark of a move: `text`, by colour and sign whether it is right or wrong; in its tooltip in words, with `ranks`. */
export function shiftMark(verdict, text, ranks, due = "") {
  const outcome = outcomeOf(verdict, due);
  const words = due ? `; it should ${due}${outcome ? `, ${outcome}` : ""}` : "";
  const attributes = { class: "shift", "data-outcome": outcome || null, title: `${verdict}: ${ranks}${words}` };
  return make("span", attributes, text, MARKS[outcome] ?? "");
}

/** Return the mark of a move between two ranks, {rank, text}, that names both. */
function moveMark(verdict, from, to, due) {
  const ranks = `${from.text} → ${to.text}`;
  return shiftMark(verdict, SIGNS[verdict] ? `${SIGNS[verdict]} ${ranks}` : verdict, ranks, due);
}

/** Return a link to a document: `facts`, its grades under `conditions`, its title, its id. */
export function documentLink(topic, place, conditions, href, facts) {
  const docid = topic.docids[place];
  const title = topic.titles[place];
  return make(
    "a",
    { href, "data-docid": docid, title: title ? `${docid}: ${title}` : docid },
    ...facts.filter(Boolean),
    grades(topic, place, conditions),
    make("span", { class: "name", dir: "auto" }, title || docid),
    title ? make("span", { class: "id" }, make("bdi", {}, docid)) : "",
  );
}

/** Return a square for each condition's grade of a document. */
export function grades(topic, place, conditions) {
  const squares = conditions
    .filter((condition) => topic.grades[condition])
    .map((condition) => {
      const grade = gradeOf(topic, condition, place);
      const title = `${condition}: ${grade === null ? "not judged" : `grade ${grade}`}`;
      const shade = grade === null ? null : Math.max(0, Math.min(3, grade));
      return make("span", { class: "grade", "data-shade": shade, title }, grade === null ? "·" : String(grade));
    });
  return make("span", { class: "grades" }, ...squares);
}

/** Return the documents that the change of instruction should have pushed down; null if there are none. */
export function fallen(topic, system, pair, link) {
  const moves = shouldFall(topic, system, pair);
  if (!moves.length) return null;
  const wrong = moves.filter(({ verdict }) => outcomeOf(verdict, "fall") === "wrong").length;
  const [base, next] = pair;
  const heading = make(
    "h2",
    { class: "label" },
    "Should have fallen ",
    make("span", {}, `relevant under ${base}, not under ${next}: ${wrong} of ${moves.length} did not fall`),
  );
  const items = moves.map(({ place, from, to, verdict }) =>
    make("li", {}, documentLink(topic, place, pair, link(place, next), [moveMark(verdict, from, to, "fall")])),
  );
  return make("section", { class: "fallen" }, heading, make("ol", { class: "ranking" }, ...items));
}
