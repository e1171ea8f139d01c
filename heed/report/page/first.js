// The first screen: a row a system, with its means, their intervals, and its difference to the baseline.

import { figure, difference, pText, signed } from "./numbers.js";
import { draw } from "./report.js";
import { byId, make } from "./shared/dom.js";

const TESTS = { fisher: "Fisher's randomization", wilcoxon: "Wilcoxon's signed ranks" };
const COMPACT = 6; // rows, from which on they are lower
const FITS = 8; // rows on a first screen
const KINDS = ["original", "changed"]; // conditions with a colour everywhere
const STEPS = [1, 2, 3, 4, 5, 6, 8, 10];

/** Draw the rows of a folder's systems into its section, and what is chosen at their foot. */
export function drawFirst(section, data) {
  const { first } = data;
  const published = new Set(shownColumns(data, 0).flatMap((column) => column.published.map(([name]) => name)));
  const state = { choice: 0, baseline: 0, published: data.systems.length + published.size <= FITS };
  const [rows, note] = [make("div", { class: "rows" }), make("p", { class: "note" })];
  const redraw = () => {
    section.querySelector(".headline").textContent = first.headlines[state.choice][state.baseline];
    rows.replaceChildren(...drawRows(section, data, state));
    note.textContent = explained(data, state);
  };
  const chooser = (name, texts) => {
    const options = texts.map((text, at) => make("option", { value: at }, text));
    const chosen = (event) => {
      state[name] = Number(event.target.value);
      redraw();
    };
    return make("select", { onchange: chosen }, ...options);
  };
  const foot = make("div", { class: "choice foot" });
  if (first.baselines.length) foot.append(make("label", {}, "baseline", chooser("baseline", first.baselines.map((at) => data.systems[at]))));
  foot.append(make("label", {}, "measure", chooser("choice", first.choices.map(({ label }) => label))));
  if (published.size) {
    const toggled = (event) => {
      state.published = event.target.checked;
      redraw();
    };
    const box = make("input", { type: "checkbox", checked: state.published, onchange: toggled });
    foot.append(make("label", {}, box, `${published.size} published systems`));
  }
  foot.append(note);
  redraw();
  section.querySelector(".screen").replaceChildren(rows, foot);
}

const shownColumns = ({ first, columns }, choice) =>
  [...first.choices[choice].dots, ...first.following].map(([at]) => columns[at]).concat(columns[first.choices[choice].column]);

/** Return what marks and figures are, and how the differences were tested. */
function explained(data, { choice, baseline }) {
  const { first, columns, systems } = data;
  const column = columns[first.choices[choice].column];
  const tested = systems.filter((_, at) => difference(column, first.baselines[baseline], at)?.holm != null).length;
  const holm = tested > 1 ? `, Holm over ${tested} systems` : "";
  const parts = column.low.some((low) => low !== null) ? ["dot: mean over topics", "line: 95% interval"] : ["dot: mean"];
  if (tested) parts.push(`p by ${TESTS[column.test]}${holm}`);
  if (first.baselines.length && first.chosen && !baseline) parts.push(first.chosen);
  if (first.baselines.length === 1) parts.push("of so many systems one baseline is in this page, others are in heed compare");
  return parts.join("; ");
}

function drawRows(section, data, state) {
  const { first, columns, systems } = data;
  const choice = first.choices[state.choice];
  const column = columns[choice.column];
  const baseline = first.baselines[state.baseline];
  const dots = choice.dots.map(([at, label]) => ({ column: columns[at], label, kind: KINDS.includes(columns[at].condition) ? columns[at].condition : "other" }));
  const following = first.following.map(([at, note]) => ({ column: columns[at], note }));
  const ours = systems.map((name, at) => ({ name, at, words: first.words[at], value: valueOf(column, at)?.value }));
  const names = state.published ? new Set(shownColumns(data, state.choice).flatMap((each) => each.published.map(([name]) => name))) : [];
  const theirs = [...names].map((name) => ({ name, words: "published", value: published(column, name)?.value }));
  const sign = column.lower ? 1 : -1;
  const all = [...ours, ...theirs].sort((a, b) => (a.value == null) - (b.value == null) || sign * ((a.value ?? 0) - (b.value ?? 0)));
  const marks = (each, row) => (row.at === undefined ? published(each.column, row.name) : valueOf(each.column, row.at));
  const scales = {
    dots: scale(all.flatMap((row) => dots.flatMap((each) => bounds(marks(each, row)))), false),
    following: scale(all.flatMap((row) => following.flatMap((each) => bounds(marks(each, row)))), true),
    difference: scale(ours.flatMap(({ at }) => bounds(differenceOf(column, baseline, at))), true),
  };
  const name = `${column.measure} against ${systems[baseline]}`;
  const under = choice.dots.filter(([at]) => at === choice.column).map(([, label]) => `${label}: `);
  const heads = [
    cell("columnheader", "system"),
    cell("columnheader", dots[0].column.measure, make("small", {}, ...dots.map(({ label, kind }) => make("span", { class: kind }, dot(kind), ` ${label}`)).flatMap((each) => [each, " "]))),
    ...following.map((each) => cell("columnheader", each.column.measure, make("small", {}, each.note))),
    ...(first.baselines.length ? [cell("columnheader", name, make("small", {}, ...under, "← worse · better →"))] : []),
  ];
  const linked = byId("explorer") && section.querySelector(".topics");
  const lines = all.map((row) => {
    const shown = dots.map((each) => ({ ...each, mark: marks(each, row) }));
    const said = shown.filter(({ mark }) => mark).map((each) => make("b", { class: each.kind }, figure(each.mark.value, 1)));
    const cells = [
      make("div", { role: "rowheader", class: "system", dir: "auto" }, linked && row.at !== undefined ? make("a", { href: placeOf(data, row.name) }, row.name) : make("b", {}, row.name), make("small", {}, row.words)),
      measured(dots[0].column.measure, plot(scales.dots, shown), said, shown.map(({ label, mark }) => spoken(label, mark)).filter(Boolean)),
      ...following.map((each) => {
        const mark = marks(each, row);
        return measured([each.column.measure, make("small", {}, each.note)], plot(scales.following, [{ mark }]), mark ? [make("b", {}, signed(mark.value, 1))] : [], [spoken(each.column.measure, mark)]);
      }),
    ];
    if (first.baselines.length) cells.push(compared(column, baseline, row, scales.difference, systems[baseline]));
    const kind = row.at === undefined ? "row theirs" : row.at === baseline ? "row baseline" : "row";
    return make("div", { role: "row", class: kind }, ...cells);
  });
  const table = make("div", { role: "table", "aria-label": `Systems of ${data.title}` }, make("div", { role: "row", class: "row heads" }, ...heads), ...lines);
  const axes = make("div", { class: "row axes", "aria-hidden": "true" }, make("div", {}), axis(scales.dots), ...following.map(() => axis(scales.following)), ...(first.baselines.length ? [axis(scales.difference)] : []));
  const box = make("div", { class: `grid of-${following.length}${first.baselines.length ? " with-baseline" : ""}${all.length >= COMPACT ? " compact" : ""}` }, table, axes);
  return [box];
}

const placeOf = (data, name) => `#/${encodeURIComponent(data.folder)}/topic?system=${encodeURIComponent(name)}`;

/** Return a system's mean and its interval in printed units; null where it has none. */
function valueOf(column, at) {
  if (column.means[at] === null) return null;
  const scaled = (value) => (value == null ? null : value * column.factor);
  return { value: scaled(column.means[at]), low: scaled(column.low[at]), high: scaled(column.high[at]) };
}

function published(column, name) {
  const found = column.published.find(([other]) => other === name);
  return found ? { value: found[1], low: null, high: null } : null;
}

/** Return the difference to the baseline in printed units, better to the right. */
function differenceOf(column, baseline, at) {
  const found = at === undefined || at === baseline ? null : difference(column, baseline, at);
  if (!found) return null;
  const factor = column.lower ? -column.factor : column.factor;
  const [low, high] = [found.low * factor, found.high * factor].sort((a, b) => a - b);
  return { ...found, value: found.value * factor, low, high, shown: signed(found.value, column.factor) };
}

const bounds = (mark) => (mark ? [mark.low ?? mark.value, mark.high ?? mark.value] : []);
const spoken = (label, mark) => mark && `${label}: ${figure(mark.value, 1)}${mark.low === null ? "" : ` [${figure(mark.low, 1)}, ${figure(mark.high, 1)}]`}`;

function compared(column, baseline, row, limits, name) {
  if (row.at === baseline) return make("div", { role: "cell", class: "cell is-baseline" }, "baseline");
  const mark = differenceOf(column, baseline, row.at);
  if (!mark) return measured(`against ${name}`, plot(limits, []), [], []);
  const p = mark.holm === null ? "not tested: other pools" : `p ${pText(mark.holm)}`;
  const counts = make("small", { class: "topics-won" }, `${mark.better} better, ${mark.worse} worse`);
  return measured(`against ${name}`, plot(limits, [{ mark }]), [make("b", {}, mark.shown), make("small", {}, p)], [spoken("difference", mark)], counts);
}

/** Return a cell: a label for narrow screens, a text or several parts, the picture, the figures. */
function measured(label, picture, figures, titles, ...more) {
  const name = make("span", { class: "label" }, ...[label].flat());
  return make("div", { role: "cell", class: "cell", title: titles.filter(Boolean).join("\n") || null }, name, picture, make("span", { class: "figures" }, ...figures), ...more);
}

const cell = (role, text, ...more) => make("div", { role }, make("b", {}, text), ...more);

/** Return an axis: its ends, and where it has figures. */
function scale(values, symmetric) {
  if (!values.length) return { low: -1, high: 1, ticks: [0], zero: symmetric };
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (symmetric) {
    const end = Math.max(Math.abs(low), Math.abs(high)) || 1;
    const power = 10 ** Math.floor(Math.log10(end));
    const tick = STEPS.findLast((step) => step * power <= end * 1.0001) * power;
    return { low: -1.1 * end, high: 1.1 * end, ticks: [-tick, 0, tick], zero: true };
  }
  const room = 0.06 * (high - low) || 1;
  const power = 10 ** Math.floor(Math.log10((high - low || 1) / 2));
  const step = power * [1, 2, 5, 10].find((each) => (high - low) / (each * power) <= 4);
  const start = Math.ceil((low - room) / step);
  const ticks = Array.from({ length: Math.floor((high + room) / step) - start + 1 }, (_, at) => (start + at) * step);
  return { low: low - room, high: high + room, ticks, zero: false };
}

const at = ({ low, high }, value) => `${((100 * (value - low)) / (high - low)).toFixed(2)}%`;

function plot(limits, shown) {
  const picture = draw("svg", { class: "plot", "aria-hidden": "true" });
  if (limits.zero) picture.append(draw("line", { class: "zero", x1: at(limits, 0), x2: at(limits, 0), y1: "15%", y2: "85%" }));
  shown.forEach(({ mark, kind = "" }, place) => {
    if (!mark) return;
    const y = shown.length > 1 ? `${place ? 63 : 37}%` : "50%";
    const group = draw("g", { class: kind });
    if (mark.low !== null) group.append(draw("line", { class: "whisker", x1: at(limits, mark.low), x2: at(limits, mark.high), y1: y, y2: y }));
    group.append(draw("circle", { class: "dot", cx: at(limits, mark.value), cy: y, r: ["changed", "other"].includes(kind) ? 4.5 : 5.5 }));
    picture.append(group);
  });
  return picture;
}

const dot = (kind) => draw("svg", { class: `legend ${kind}`, "aria-hidden": "true" }, draw("circle", { class: "dot", cx: 6, cy: 6, r: kind === "original" ? 5 : 4 }));

function axis(limits) {
  const marks = limits.ticks.map((tick) => draw("text", { x: at(limits, tick), y: 14, "text-anchor": "middle" }, String(Number(tick.toFixed(6))).replace("-", "−")));
  return make("div", { class: "cell" }, draw("svg", { class: "plot" }, ...marks), make("span", { class: "figures" }));
}
