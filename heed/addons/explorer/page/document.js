// A document beside the ranking: its text with the topic's words marked, its grades, its ranks in every system.

import { make, setLanguage } from "../../../report/page/shared/dom.js";
import { tableRegion } from "../../../report/page/shared/table.js";
import { marked, newTerms, termsOf } from "../../../report/page/shared/words.js";
import { sides } from "./narratives.js";
import { grades, shiftMark } from "./ranking.js";
import { dueOf, moved, rankIn, rankingOf } from "./ranks.js";

const NAMES = ["query", "asked", "excluded"];

/** Return the children of the document's place; `topic` is null where a document is shown by itself. */
export function documentParts(document, folder, topic, conditions) {
  const terms = topic ? termsFor(topic, conditions.at(-1)) : {};
  const mark = (text) =>
    marked(text, folder.language.tag, terms).map(({ kind, text: part }) =>
      kind ? make("mark", { "data-kind": kind }, part) : part,
    );
  const key = NAMES.filter((kind) => terms[kind] && terms[kind].stems.size + terms[kind].runs.size);
  const facts = make(
    "p",
    { class: "facts" },
    make("span", { class: "id" }, make("bdi", {}, document.docid)),
    ...(topic ? [grades(topic, topic.docids.indexOf(document.docid), conditions)] : []),
    make("span", { class: "spring" }),
    ...key.map((kind) => make("mark", { "data-kind": kind }, kind)),
  );
  // the caption is the title
  const table = document.table ? tableRegion({ ...document.table, caption: "" }, mark, folder.language) : null;
  const title = make("h2", { class: "title" }, make("bdi", {}, ...mark(document.title || document.docid)));
  const standing = topic ? [ranksTable(topic, folder, document.docid, conditions)] : [];
  const text = table ? [table] : texts(document, mark, folder.language);
  const rest = document.isCut ? [make("p", { class: "empty" }, "The beginning; heed explore shows the whole document.")] : [];
  return [facts, setLanguage(title, folder.language), ...text, ...rest, ...standing];
}

/** Return what to mark: of the query, and of the instruction's two sides what the query does not say, as polarity. */
function termsFor(topic, condition) {
  const tag = topic.language.tag;
  const { asked, excluded } = sides(topic, condition);
  const query = termsOf(topic.query, tag, true);
  const wanted = newTerms(termsOf(asked, tag), query);
  return { query, asked: wanted, excluded: newTerms(newTerms(termsOf(excluded, tag), query), wanted) };
}

function texts(document, mark, language) {
  const lines = document.text.split(/\n+/).filter((line) => line.trim());
  if (!lines.length) return [make("p", { class: "empty" }, "This document has no text.")];
  return lines.map((line) => setLanguage(make("p", { class: "text" }, ...mark(line)), language)); // a block ends an override
}

/** Return the document's rank in every system under each of `conditions`. */
function ranksTable(topic, folder, docid, conditions) {
  const place = topic.docids.indexOf(docid);
  const rows = folder.systems
    .filter((system) => topic.rankings[system])
    .map((system) => {
      const lists = conditions.map((condition) => rankingOf(topic, system, condition));
      const ranks = lists.map((list) => (list ? rankIn(topic, list, place) : { rank: null, text: "no list" }));
      const { verdict, by } = lists.length > 1 && lists.every(Boolean) ? moved(ranks[0].rank, ranks[1].rank) : {};
      const isKnown = verdict && ranks.some(({ rank }) => rank !== null);
      const text = `${verdict}${by ? ` ${by}` : ""}`;
      const move = isKnown ? shiftMark(verdict, text, ranks.map((rank) => rank.text).join(" → "), dueOf(topic, conditions, place)) : "";
      const name = make("th", { scope: "row" }, make("bdi", {}, system));
      return make("tr", {}, name, ...ranks.map(({ text }) => make("td", {}, text)), ...(lists.length > 1 ? [make("td", {}, move)] : []));
    });
  const names = ["system", ...conditions.map((name) => `rank, ${name}`), ...(conditions.length > 1 ? ["shift"] : [])];
  const head = make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name))));
  const table = make("table", {}, head, make("tbody", {}, ...rows));
  return make("div", { class: "table standing", tabindex: 0, role: "region", "aria-label": "Ranks of this document" }, table);
}
