// The list of topics: searched by id and words, ordered by a measure's value, the worst first.

import { make, setLanguage } from "../../../report/page/shared/dom.js";
import { formatted } from "./values.js";

/** Return the figures that topics can be ordered by, {name, number among the folder's keys, label}, pairs of conditions first. */
export function orders(folder, system) {
  const of = folder.keys.map((key, i) => [i, key]).filter(([, key]) => key[0] === system);
  const isPair = ([, key]) => key[1].includes(">");
  const pairs = of.filter(isPair);
  const one = new Set(pairs.map(([, key]) => key[1])).size === 1; // then its name would only fill the narrow list
  return [...pairs, ...of.filter((each) => !isPair(each))].map(([number, [, condition, measure]]) => ({
    name: `${condition} ${measure}`,
    number,
    label: `worst ${measure}${one && condition.includes(">") ? "" : `, ${condition.replace(">", " → ")}`}`,
  }));
}

/** Return the entries {topic, value} of the list, the worst first; `order` is the number of a key, or null for the topics' own order. */
export function listedTopics(folder, wanted, order) {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const entries = folder.topics
    .map((topic, i) => ({ topic, value: order === null ? null : folder.values[order][i] }))
    .filter(({ topic }) => words.every((word) => `${topic.qid} ${topic.query}`.toLowerCase().includes(word)));
  const worst = ({ value }) => (value === null ? Infinity : folder.lower[order] ? -value : value);
  if (order !== null) entries.sort((a, b) => worst(a) - worst(b) || 0); // of two without a value NaN
  return entries;
}

/** Return the items of the list; `link(qid)` is a topic's address. */
export function topicItems(folder, { wanted, order, current, link }) {
  const measure = order === null ? "" : folder.keys[order][2];
  return listedTopics(folder, wanted, order).map(({ topic, value }) => {
    const query = setLanguage(make("span", { class: "query" }, make("bdi", {}, topic.query || topic.qid)), topic.language);
    const figure = order === null ? topic.type : formatted(folder.factors, measure, value);
    return make(
      "li",
      {},
      make(
        "a",
        { href: link(topic.qid), "aria-current": topic.qid === current ? "page" : null },
        make("span", { class: "id" }, make("bdi", {}, topic.qid)),
        make("span", { class: "figure" }, figure),
        query,
      ),
    );
  });
}
