// A topic's values of every measure, a line for each system, and why some are not there.

import { figure } from "../../../report/page/numbers.js";
import { make } from "../../../report/page/shared/dom.js";

const ABSENT = "–";

/** Return a value as the report's tables print it; `factors` are the folder's, by measure. */
export const formatted = (factors, measure, value) => (value == null ? ABSENT : figure(value, factors[measure]));

/** Return the table of a topic's values; `link(system)` is the address of the topic with another system's lists. */
export function valuesTable(topic, folder, system, link) {
  const columns = new Map(); // condition -> measures
  for (const [, condition, measure] of folder.keys) {
    const isHere = folder.systems.some((name) => topic.values[name]?.[condition]?.[measure] !== undefined);
    if (isHere) columns.set(condition, new Set([...(columns.get(condition) ?? []), measure]));
  }
  if (!columns.size) return null;
  const flat = [...columns].flatMap(([condition, measures]) => [...measures].map((measure) => [condition, measure]));
  const head = [...columns].map(([condition, { size }]) => make("th", { colspan: size, scope: "colgroup" }, condition));
  const rows = folder.systems.map((name) => {
    const cells = flat.map(([condition, measure]) => formatted(folder.factors, measure, topic.values[name]?.[condition]?.[measure]));
    const own = make("a", { href: link(name), "aria-current": name === system ? "true" : null }, make("bdi", {}, name));
    return make("tr", {}, make("th", { scope: "row" }, own), ...cells.map((text) => make("td", {}, text)));
  });
  const table = make(
    "table",
    {},
    make(
      "thead",
      {},
      make("tr", {}, make("th", { rowspan: 2, scope: "col" }, "system"), ...head),
      make("tr", {}, ...flat.map(([, measure]) => make("th", { scope: "col" }, make("bdi", {}, measure)))),
    ),
    make("tbody", {}, ...rows),
  );
  return make("div", { class: "table values", tabindex: 0, role: "region", "aria-label": "Values, ×100" }, table);
}

/** Return the reasons why the topic has no value somewhere; null without any. */
export function absences(topic) {
  if (!topic.absent.length) return null;
  const lines = topic.absent.map(({ condition, reason }) => make("li", {}, make("b", {}, condition.replace(">", " → ")), ` ${reason}`));
  return make("ul", { class: "absent" }, ...lines);
}
