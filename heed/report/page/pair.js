// Two systems side by side: every measure, the test of their difference, and where they differ most.

import { difference, figure, pText, signed } from "./numbers.js";
import { draw } from "./report.js";
import { byId, make } from "./shared/dom.js";
import { sortable } from "./sorting.js";

export const FOLDERS = JSON.parse(byId("figures").textContent);
const SCALE = 100_000; // values by topic are whole numbers of this
const SIGNIFICANT = 0.05;
const SHOWN = 25; // topics at first

const HOW_TESTED =
  "Values ×100. p is two-sided, by Fisher's randomization, for pairwise measures by Wilcoxon's signed " +
  "ranks, and corrected by Holm over the systems that are tested against the first; bold below 0.05. ";

const placeOfPair = (folder, first, second) => `#/${[folder, "systems", first, second].map(encodeURIComponent).join("/")}`;

/** Return the topics that both systems have a value of: `{qid, first, second, difference}`, whole numbers. */
function topicsOf(data, column, first, second) {
  const [a, b] = [column.values[first], column.values[second]];
  if (!a || !b) return [];
  return column.topics
    .map((topic, at) => ({ qid: data.qids[topic], first: a[at], second: b[at], difference: b[at] - a[at] }))
    .filter((topic, at) => a[at] !== null && b[at] !== null);
}

/** Draw two systems of a folder; `measured` is the column whose topics are listed. */
export function drawPair(data, names, measured) {
  const [first, second] = names.map((name) => data.systems.indexOf(name));
  const columns = data.columns.filter((column) => column.means[first] !== null && column.means[second] !== null);
  const listed = columns.filter((column) => !column.part);
  const deciding = data.columns[data.first.following[0]?.[0] ?? data.first.choices[0].column];
  const column = listed[measured] ?? listed.find((each) => each === deciding) ?? listed[0] ?? columns[0];
  const view = byId("pair");
  view.replaceChildren(
    head(data),
    make("h2", { dir: "auto", tabindex: "-1" }, `${names[1]} against ${names[0]}`),
    choice(data, names),
    measures(data, "Measures", listed, names),
    make("p", { class: "note" }, HOW_TESTED),
  );
  if (!column) return;
  const pick = (event) => {
    drawPair(data, names, Number(event.target.value));
    byId("measure").focus();
  };
  const options = listed.map((each, at) =>
    make("option", { value: at, selected: each === column }, `${each.measure}, ${each.condition}`),
  );
  view.append(
    make("h3", {}, "Where they differ most"),
    make("p", { class: "choice" }, make("label", {}, "Measure ", make("select", { id: "measure", onchange: pick }, ...options))),
    ...parts(data, columns, column, names),
    ...topics(data, column, names),
    ...settings(data, names),
  );
  const rest = columns.filter((each) => each.part);
  if (rest.length) {
    const every = "Every measure by type or language";
    byId("topics-title").before(make("details", {}, make("summary", {}, every), measures(data, every, rest, names)));
  }
}

/** Return the head of the folder's results again, with this place among its parts. */
function head(data) {
  const section = [...document.querySelectorAll("#overview section")].find((each) => each.dataset.folder === data.folder);
  const copy = section.querySelector(".head").cloneNode(true);
  for (const link of copy.querySelectorAll(".tabs a")) link.ariaCurrent = link.classList.contains("two") ? "page" : null;
  return copy;
}

function choice(data, names) {
  const pickers = names.map((name, side) => {
    const chosen = (event) => {
      const next = [...names];
      next[side] = event.target.value;
      location.hash = placeOfPair(data.folder, ...next);
    };
    const options = data.systems.map((system) => make("option", { value: system, selected: system === name }, system));
    const mark = make("span", { class: side ? "second" : "first", "aria-hidden": "true" }, side ? "■" : "●");
    const label = side ? "Second system" : "First system";
    return make("label", {}, mark, make("select", { id: `system-${side}`, "aria-label": label, onchange: chosen }, ...options));
  });
  return make("p", { class: "choice" }, ...pickers);
}

function tableOf(label, heads, rows) {
  const head = make("tr", {}, ...heads.map((text) => make("th", { scope: "col", dir: "auto", class: rows.names.includes(text) && "name" }, text)));
  const table = make("table", { class: "sortable" }, make("thead", {}, head), make("tbody", {}, ...rows.rows));
  sortable(table);
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);
}

/** Return a text with a place to break the line after each >. */
const broken = (text) => text.split(/(?<=>)/).flatMap((part, at) => (at ? [make("wbr"), part] : [part]));

function measures(data, label, columns, names) {
  const [first, second] = names.map((name) => data.systems.indexOf(name));
  const rows = columns.map((column) => {
    const found = difference(column, first, second);
    const apart = column.means[second] - column.means[first];
    const p = found?.holm ?? null;
    const shown = p === null ? "-" : p < SIGNIFICANT ? make("strong", {}, pText(p)) : pText(p);
    return make(
      "tr",
      {},
      make("td", { class: "name", dir: "auto" }, column.measure, make("small", {}, ...broken(column.condition))),
      ...[first, second].map((at) => make("td", {}, figure(column.means[at], column.factor))),
      make("td", {}, signed(apart, column.factor)),
      make("td", { "data-value": p }, shown),
      make("td", {}, found ? String(found.better) : "-"),
      make("td", {}, found ? String(found.worse) : "-"),
      make("td", {}, found ? String(found.topics) : "-"),
    );
  });
  return tableOf(label, ["measure", ...names, "difference", "p", "better", "worse", "topics"], { rows, names: ["measure"] });
}

/** Return a cell with a bar from the middle: to the right the second system is higher, to the left the first. */
function bar(difference, most) {
  const width = (64 * Math.abs(difference)) / (most || 1);
  const box = { x: difference < 0 ? 66 - width : 66, y: 3, width, height: 12, fill: "currentColor" };
  const picture = draw("svg", { viewBox: "0 0 132 18", preserveAspectRatio: "none", width: "100%", height: 18, "aria-hidden": "true", class: difference < 0 ? "first" : "second" });
  picture.append(draw("rect", box), draw("path", { d: "M66,0V18", stroke: "currentColor", opacity: 0.5 }));
  return make("td", { class: "bar", "data-value": String(difference) }, picture);
}

/** Return the rows of a list of `{name, link, first, second}` on the measure's scale, by difference. */
function differing(items, factor) {
  const sorted = [...items].sort((a, b) => Math.abs(b.second - b.first) - Math.abs(a.second - a.first));
  const most = sorted.length ? Math.abs(sorted[0].second - sorted[0].first) : 0;
  return sorted.map((item) =>
    make(
      "tr",
      {},
      make("td", { class: "name", dir: "auto" }, item.link ? make("a", { href: item.link }, item.name) : item.name),
      make("td", {}, figure(item.first, factor)),
      make("td", {}, figure(item.second, factor)),
      make("td", {}, signed(item.second - item.first, factor)),
      bar(item.second - item.first, most),
    ),
  );
}

/** Return tables by type of constraint or language in this folder, and of the same figure in other folders. */
function parts(data, columns, column, names) {
  const chosen = names.map((name) => data.systems.indexOf(name));
  const inside = columns
    .filter((each) => each.part && each.measure === column.measure)
    .filter((each) => !each.condition.includes(" ") || each.condition.startsWith(`${column.condition} `))
    .map((each) => ({ name: each.condition, first: each.means[chosen[0]], second: each.means[chosen[1]] }));
  const outside = FOLDERS.filter((folder) => folder !== data).flatMap((folder) => {
    const places = names.map((name) => folder.systems.indexOf(name));
    const same = folder.columns.find((each) => each.condition === column.condition && each.measure === column.measure);
    if (!same || places.some((place) => place < 0 || same.means[place] === null)) return [];
    const link = placeOfPair(folder.folder, ...names);
    return [{ name: folder.title, link, first: same.means[places[0]], second: same.means[places[1]] }];
  });
  const shown = [];
  for (const [title, head, items] of [
    ["By type or language", "type or language", inside],
    ["In other folders: languages, dimensions, collections", "results", outside],
  ]) {
    if (!items.length) continue;
    const rows = { rows: differing(items, column.factor), names: [head] };
    shown.push(make("h3", {}, title), tableOf(title, [head, ...names, "difference", "higher →"], rows));
  }
  return shown;
}

function topics(data, column, names) {
  const chosen = names.map((name) => data.systems.indexOf(name));
  const both = topicsOf(data, column, ...chosen);
  const title = make("h3", { id: "topics-title" }, "By topic");
  if (!both.length) return [title, make("p", { class: "note" }, "No values by topic of both systems here (per_topic.json).")];
  const items = both.map((topic) => ({
    name: topic.qid,
    link: `#/${encodeURIComponent(data.folder)}/topic/${encodeURIComponent(topic.qid)}?system=${encodeURIComponent(names[1])}`,
    first: topic.first / SCALE,
    second: topic.second / SCALE,
  }));
  const rows = differing(items, column.factor);
  const table = tableOf("Topics", ["topic", ...names, "difference", "higher →"], { rows, names: ["topic"] });
  const rest = rows.slice(SHOWN);
  for (const row of rest) row.hidden = true;
  const all = make("button", { type: "button", class: "plain-button" }, `All ${rows.length} topics`);
  all.addEventListener("click", () => {
    for (const row of rest) row.hidden = false;
    all.remove();
  });
  return [title, table, ...(rest.length ? [all] : [])];
}

/** Return what is known of how both systems were made; names whose values differ stand out. */
function settings(data, names) {
  const known = names.map((name) => new Map(data.settings[name] ?? []));
  const keys = [...new Set(known.flatMap((each) => [...each.keys()]))];
  if (!keys.length) return [];
  const rows = keys.map((key) => {
    const values = known.map((each) => each.get(key) ?? "");
    const cells = values.map((value) => make("td", { class: "name", dir: "auto" }, values[0] === values[1] ? value : make("strong", {}, value)));
    return make("tr", {}, make("td", { class: "name" }, key), ...cells);
  });
  const heads = ["setting", ...names];
  return [make("h3", {}, "Settings (manifest.yml)"), tableOf("Settings", heads, { rows, names: heads })];
}
