// A topic: query, narratives, what should have fallen, the lists of a system, the values of all.

import { make, setLanguage } from "../../../report/page/shared/dom.js";
import { kindMarks } from "../../../report/page/shared/spans.js";
import { narrativePanels } from "./narratives.js";
import { fallen, rankingColumns } from "./ranking.js";
import { absences, formatted, valuesTable } from "./values.js";

const PART = / (kept|in neither|in one only)$/; // of what another measure sees

/** Return the conditions under which the topic has lists or grades, those of the first pair that has both. */
export function shownConditions(topic, folder, wanted) {
  const listed = new Set(Object.values(topic.rankings).flatMap((lists) => Object.keys(lists)));
  const pairs = folder.pairs.filter((pair) => pair.every((name) => listed.has(name)));
  const asked = pairs.find((pair) => pair.join(">") === wanted);
  return asked ?? pairs[0] ?? folder.conditions.filter((name) => listed.has(name)).slice(0, 1);
}

/**
 * Return the children of the topic's place. `go` has the addresses: system(name), pair(pair), topic(qid), document(…),
 * and `narrative`, the tab that is shown: {name, show(name)}.
 */
export function topicParts(topic, folder, system, conditions, go) {
  const pair = conditions.length === 2 ? conditions : null;
  const query = setLanguage(make("h1", { class: "query" }, make("bdi", {}, topic.query || topic.qid)), topic.language);
  const about = [make("bdi", {}, topic.qid), ...(topic.type ? [` · ${topic.type}`] : [])];
  const wrong = pair ? fallen(topic, system, pair, go.document) : null;
  const why = absences(topic);
  const values = valuesTable(topic, folder, system, go.system);
  return [
    make("p", { class: "label" }, "Topic ", make("span", { class: "id" }, ...about), ...family(topic, folder, go)),
    query,
    ...figures(topic, folder.factors, system, conditions),
    ...narrativeTabs(topic, pair, go.narrative),
    ...(wrong ? [wrong] : []),
    choices(topic, folder, system, conditions, go),
    rankingColumns(topic, system, conditions, go.document),
    ...depths(go.depths()),
    make("h2", { class: "label" }, "Measures of this topic ", make("span", {}, "×100")),
    ...(why ? [why] : []),
    ...(values ? [values] : [make("p", { class: "soft" }, "This topic has no value of any measure.")]),
  ];
}

/** Return links to more of the lists; none where only one depth is there. */
function depths(known) {
  if (!known.length) return [];
  const links = known.map(({ depth, href, isShown }) =>
    make("a", { class: "choice", href, "aria-current": isShown ? "true" : null }, String(depth)),
  );
  return [make("p", { class: "tabs" }, make("span", { class: "label" }, "first documents"), ...links)];
}

/** Return links to the topics that ask the same query, alone or with other instructions. */
function family(topic, folder, go) {
  const base = topic.base || topic.qid;
  const related = folder.topics.filter((other) => other.qid !== topic.qid && (other.qid === base || other.base === base));
  if (!related.length) return [];
  const links = related.map(({ qid, base: of }) => make("a", { href: go.topic(qid) }, of ? qid : `${qid} (query alone)`));
  return [make("span", { class: "family" }, "same query: ", ...links.flatMap((link) => [link, " "]))];
}

/** Return the line of what the change of instruction did to a system's list of this topic, or of why that is not known. */
function figures(topic, factors, system, conditions) {
  const shown = conditions.join(">");
  const values = Object.entries(topic.values[system]?.[shown] ?? {}).filter(([measure]) => !PART.test(measure));
  const text = values.map(([measure, value]) => `${measure} ${formatted(factors, measure, value)}`).join(" · ");
  const why = topic.absent.find(({ condition }) => condition === shown)?.reason;
  if (!text && !why) return [];
  return [make("p", { class: "figures" }, make("bdi", {}, system), `, ${conditions.join(" → ")}: `, text ? make("b", {}, text) : why)];
}

/** Return tabs and panels of a topic's narratives: the one named `tab.name`, else how the pair of them differs, is shown. */
export function narrativeTabs(topic, pair, tab) {
  const panels = narrativePanels(topic, pair);
  if (!panels.length) return [make("p", { class: "soft" }, "This topic is the query alone, without an instruction.")];
  const choose = (i) => {
    show(i);
    tab.show(i ? panels[i].name : null);
  };
  const buttons = panels.map(({ label }, i) => make("button", { onclick: () => choose(i) }, label));
  const bodies = panels.map(({ label, element }) =>
    make("div", { class: "panel" }, make("p", { class: "for-print label" }, label), element),
  );
  const key = (kinds, ...text) => make("span", { class: "key soft" }, ...text, ...kinds.flatMap((mark) => [mark, " "]));
  const legends = [key([make("ins", {}, "added"), make("del", {}, "removed")]), key(kindMarks(), "as polarity reads it: ")];
  const show = (shown) => {
    const isDifference = panels[shown].name === "difference";
    legends.forEach((legend, i) => (legend.hidden = (i === 0) !== isDifference));
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === shown)));
    bodies.forEach((body, i) => body.toggleAttribute("data-off", i !== shown));
  };
  show(Math.max(0, panels.findIndex(({ name }) => name === tab.name)));
  return [make("div", { class: "tabs" }, make("h2", { class: "label" }, "Narratives"), ...buttons, ...legends), ...bodies];
}

/** Return the line above the lists: which system, which pair of conditions. */
function choices(topic, folder, system, conditions, go) {
  const options = folder.systems
    .filter((name) => topic.rankings[name])
    .map((name) => make("option", { value: name, selected: name === system }, name));
  const choose = (event) => {
    location.hash = go.system(event.target.value);
  };
  const select = make("select", { class: "system", onchange: choose }, ...options);
  const pairs = folder.pairs
    .filter(() => folder.pairs.length > 1)
    .map((pair) => {
      const isShown = pair.join(">") === conditions.join(">");
      return make("a", { class: "choice", href: go.pair(pair.join(">")), "aria-current": isShown ? "true" : null }, pair.join(" → "));
    });
  const label = make("label", {}, make("span", { class: "label" }, "Ranking of "), select);
  const key = conditions.length > 1 ? [make("span", { class: "key soft" }, "squares: grades; ✓ moved as they ask, ✗ against them")] : [];
  return make("div", { class: "tabs" }, label, ...pairs, ...key);
}
