// Query and narratives: what an instruction asks for and excludes, marked, and how two of them differ.

import { difference, wordCounts } from "../../../report/page/shared/diff.js";
import { make, setLanguage } from "../../../report/page/shared/dom.js";
import { markSpans } from "../../../report/page/shared/spans.js";

const TAGS = { in: "ins", out: "del" };

/** Return the panels of a topic's narratives, {name, label, element}: the difference of a pair that has two comes first. */
export function narrativePanels(topic, pair) {
  const names = Object.keys(topic.narratives);
  const isOfPair = pair?.every((name) => topic.narratives[name]);
  const panels = names.map((name) => ({ name, label: name, element: narrative(topic, name) }));
  if (isOfPair) return [differencePanel(topic, pair), ...panels];
  return names.length > 1 ? [...panels, differencePanel(topic, names.slice(0, 2))] : panels;
}

function differencePanel(topic, [before, after]) {
  const [{ text: from }, { text: to }] = [topic.narratives[before], topic.narratives[after]];
  const pieces = difference(from, to, topic.language.tag);
  const counts = wordCounts(pieces, topic.language.tag);
  const children = pieces.map(({ kind, text }) => (TAGS[kind] ? make(TAGS[kind], {}, text) : text));
  const element = setLanguage(make("p", { class: "narrative difference" }, ...children), topic.language);
  const label = `${before} → ${after}: +${counts.in} −${counts.out} words`;
  return { name: "difference", label, element };
}

/** Return a narrative with what it asks for and what it excludes marked. */
function narrative(topic, name) {
  return setLanguage(make("p", { class: "narrative" }, ...markSpans(topic.narratives[name])), topic.language);
}

/** Return the texts of a narrative that are asked for and excluded. */
export function sides(topic, condition) {
  const { text, spans } = topic.narratives[condition] ?? { text: "", spans: [] };
  const letters = [...text];
  const joined = (wanted) =>
    spans.filter(([, , kind]) => kind === wanted).map(([from, to]) => letters.slice(from, to).join("")).join("\n");
  return { asked: joined("asked"), excluded: joined("excluded") };
}
