// A system's lists under two conditions side by side, and the documents that should have fallen.

import { make } from "../../page/shared/dom.js";
import { gradeOf, moved, rankIn, rankingOf, shouldFall } from "./ranks.js";

const SIGNS = { rose: "▲", fell: "▼", stayed: "=" };

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
    const shift = otherList ? shiftOf(topic, own, otherList, place, condition === conditions[0]) : "";
    const gap = i > 0 && own.ranks[i] > own.ranks[i - 1] + 1;
    const score = own.scores[i];
    return make(
      "li",
      { "data-gap": gap },
      documentLink(topic, place, conditions, link(place, condition), [
        make("span", { class: "rank" }, String(own.ranks[i])),
        shift,
        score === undefined ? "" : make("span", { class: "score", title: "score" }, String(score)),
      ]),
    );
  });
  return make("section", { "aria-label": `${system}, ${condition}` }, heading, make("ol", { class: "ranking" }, ...items));
}

/** Return how the document moved from the first condition to the second, in either column. */
function shiftOf(topic, own, other, place, isFirst) {
  const [here, there] = [rankIn(topic, own, place), rankIn(topic, other, place)];
  const [from, to] = isFirst ? [here, there] : [there, here];
  const { verdict, by } = moved(from.rank, to.rank);
  const label = `${verdict}: ${from.text} → ${to.text}`;
  const text = by === null ? SIGNS[verdict] : by ? `${SIGNS[verdict]}${by}` : SIGNS[verdict];
  return make("span", { class: "shift", "data-verdict": verdict, title: label }, text);
}

/** Return a link to a document: `facts`, its grades under `conditions`, its title, its id. */
export function documentLink(topic, place, conditions, href, facts) {
  const docid = topic.docids[place];
  const title = topic.titles[place];
  return make(
    "a",
    { href, "data-docid": docid },
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
  const isWrong = (verdict) => verdict === "rose" || verdict === "stayed";
  const wrong = moves.filter(({ verdict }) => isWrong(verdict)).length;
  const [base, next] = pair;
  const heading = make(
    "h2",
    { class: "label" },
    "Should have fallen ",
    make("span", {}, `relevant under ${base}, not under ${next}: ${wrong} of ${moves.length} did not fall`),
  );
  const items = moves.map(({ place, from, to, verdict, by }) => {
    const text = SIGNS[verdict] ? `${SIGNS[verdict]} ${from.text} → ${to.text}` : verdict;
    const attributes = { class: "shift", "data-verdict": verdict, "data-wrong": isWrong(verdict) };
    const shift = make("span", { ...attributes, title: `${verdict}${by ? ` by ${by}` : ""}` }, text);
    return make("li", {}, documentLink(topic, place, pair, link(place, next), [shift]));
  });
  return make("section", { class: "fallen" }, heading, make("ol", { class: "ranking" }, ...items));
}
