// Why a document has its score: the words that speak for and against it, asked from the server when it is opened.

import { make } from "../../../report/page/shared/dom.js";

const WORDS = 12; // of a clause
const TERMS = 6; // of the best documents

/** Return a fold that shows why; `ask()` promises the reason as the server tells it. */
export function reasonFold(name, ask) {
  const body = make("div", { class: "reason" });
  const fold = make("details", {}, make("summary", { "aria-label": `Why ${name} is there` }, "Why"), body);
  let isAsked = false;
  fold.addEventListener("toggle", async () => {
    if (!fold.open || isAsked) return;
    isAsked = true;
    body.replaceChildren(make("p", { class: "soft", role: "status" }, "asking …"));
    try {
      body.replaceChildren(...reasonParts(await ask()));
    } catch (error) {
      isAsked = false; // it can be opened again
      body.replaceChildren(make("p", { class: "empty", role: "status" }, error.message));
    }
  });
  return fold;
}

function reasonParts({ score, contributions }) {
  const items = [
    ...clausesOf(contributions.filter(({ part }) => part !== "like")).map(clauseItem),
    ...likeItem(contributions.filter(({ part }) => part === "like")),
  ];
  const against = sum(contributions.filter(({ value }) => value < 0));
  const parts = `${signed(sum(contributions) - against)} for it, ${signed(against)} against it`;
  const text = contributions.length ? `score ${score.toFixed(3)}: ${parts}` : `score ${score.toFixed(3)}: it has none of the words`;
  return [make("p", { class: "soft", role: "status" }, text), make("ul", {}, ...items)];
}

/** Return the contributions of each clause, the one that adds or takes most first. */
function clausesOf(contributions) {
  const clauses = new Map();
  for (const one of contributions) {
    const key = `${one.part} ${one.part === "query" ? "" : (one.clauses[0] ?? "")}`;
    clauses.set(key, [...(clauses.get(key) ?? []), one]);
  }
  return [...clauses.values()].sort((a, b) => Math.abs(sum(b)) - Math.abs(sum(a)));
}

function clauseItem(contributions) {
  const { part, clauses } = contributions[0];
  const shown = contributions.slice(0, WORDS).flatMap(({ term, words, value }) => [
    " ",
    make("mark", { "data-kind": part }, make("bdi", {}, words.join(", ") || term)),
    make("span", { class: "soft" }, ` ${signed(value)}`),
  ]);
  const rest = contributions.length > WORDS ? [` and ${contributions.length - WORDS} more`] : [];
  const clause = part === "query" ? [] : clauses.slice(0, 1).map((text) => make("q", { dir: "auto" }, text));
  return item(sum(contributions), `${part}:`, ...shown, ...rest, make("div", { class: "soft" }, ...clause));
}

function likeItem(found) {
  if (!found.length) return [];
  const terms = found.slice(0, TERMS).map(({ term }) => term).join(", ");
  const more = found.length > TERMS ? ", …" : "";
  return [item(sum(found), "like the best documents", make("span", { class: "soft" }, ": ", make("bdi", {}, terms + more)))];
}

const item = (value, ...children) =>
  make("li", {}, make("span", { class: "value" }, signed(value)), " ", ...children);

const sum = (contributions) => contributions.reduce((total, { value }) => total + value, 0);

function signed(value) {
  const text = Math.abs(value).toFixed(3);
  return value < 0 ? `−${text}` : `+${text}`;
}
