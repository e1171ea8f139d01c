// Tables that are filtered; charts, drawn by Vega when they come near the window, read with the pointer and with keys.

import { byId, fill, make } from "./shared/dom.js";
import { unpacked } from "./shared/packed.js";

const SVG = "http://www.w3.org/2000/svg";
const NEAR = "800px"; // below the window

/** Return an element of a picture. */
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// ---- filtering

const wordsOf = (id) => byId(id).value.toLowerCase().split(/\s+/).filter(Boolean);

/** Show the rows whose system and condition have all words, and the columns whose measure has one of them. */
function filter() {
  const rowWords = wordsOf("rows-filter");
  const columnWords = wordsOf("columns-filter");
  let [shown, all] = [0, 0];
  for (const table of document.querySelectorAll(".all .sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    const hidden = heads.map((head, at) => {
      const text = head.textContent.toLowerCase();
      return at > 1 && at < heads.length - 1 && columnWords.length > 0 && !columnWords.some((word) => text.includes(word));
    });
    for (const row of table.rows) {
      hidden.forEach((hide, at) => (row.cells[at].hidden = hide));
      if (row.parentElement === table.tHead) continue;
      const text = `${row.cells[0].textContent} ${row.cells[1].textContent}`.toLowerCase();
      row.hidden = !rowWords.every((word) => text.includes(word));
      all += 1;
      shown += !row.hidden;
    }
  }
  byId("filtered").textContent = rowWords.length ? `${shown} of ${all} rows` : "";
}

/** Put the filters, which are of all folders, above a folder's table of all measures. */
function placeFilters(all) {
  if (all && !all.contains(byId("filters"))) all.querySelector(".scroll").before(byId("filters")); // a move loses the focus
}

// ---- charts

/** Draw a chart into its figure once; its expressions are interpreted, as the page's policy allows no `eval`. */
async function drawChart(figure, spec, config) {
  if (figure.firstChild) return;
  const place = make("div");
  figure.append(place);
  const parsed = vega.parse(vega.compile(spec, { config }).spec, null, { ast: true });
  const view = new vega.View(parsed, { container: place, renderer: "svg", expr: vega.expressionInterpreter });
  await view.runAsync();
  view.finalize(); // nothing moves
  const marks = [...place.querySelectorAll("[role='graphics-symbol']")].map(linked).filter(Boolean);
  reachable(place, marks);
  figure.style.minHeight = "";
}

/** Put a mark into a link to its place, as Vega itself would follow it on a click alone; null if it leads nowhere. */
function linked(mark) {
  const href = mark.__data__?.href;
  if (!href?.startsWith("#/")) return null;
  const link = draw("a", { href, "aria-label": mark.getAttribute("aria-label") });
  for (const name of ["role", "aria-roledescription", "aria-label"]) mark.removeAttribute(name);
  mark.replaceWith(link);
  link.append(mark);
  return link;
}

/** Make the marks of a chart one stop of the Tab key; arrows move between them. */
function reachable(chart, marks) {
  marks.forEach((mark, at) => mark.setAttribute("tabindex", at ? -1 : 0));
  chart.addEventListener("keydown", (event) => {
    const at = marks.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: marks.length - 1 };
    const next = marks[to[event.key]];
    if (at < 0 || !next) return;
    event.preventDefault();
    marks[at].setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  });
}

async function drawAll(element) {
  const figures = [...document.querySelectorAll("[data-plot]")];
  if (typeof vega === "undefined") {
    const missing = "The charts need vega.js, which belongs beside this page.";
    figures[0].closest(".plots").before(make("p", { class: "note" }, missing));
    return;
  }
  const { config, specs } = await unpacked(JSON.parse(element.textContent));
  const drawFigure = (figure) => drawChart(figure, specs[figure.dataset.plot], config);
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
        observer.unobserve(target);
        drawFigure(target);
      }
    },
    { rootMargin: NEAR },
  );
  for (const figure of figures) {
    figure.style.minHeight = `${specs[figure.dataset.plot].height + 90}px`; // with title, axis and legend
    observer.observe(figure);
  }
  addEventListener("beforeprint", () => figures.forEach(drawFigure));
}

/** Show what the mark or figure under the pointer, or with the focus, says of itself. */
function tell(event) {
  const mark = event.target.closest?.("svg a, svg path");
  const text = mark?.closest("a")?.getAttribute("aria-label") ?? mark?.getAttribute("aria-label");
  const tip = byId("tip");
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const box = mark.getBoundingClientRect();
  const size = tip.getBoundingClientRect();
  const left = Math.min(Math.max(4, box.left + box.width / 2 - size.width / 2), innerWidth - size.width - 4);
  const top = box.top - size.height - 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${top < 4 ? box.bottom + 8 : top}px`;
}

if (byId("charts")) drawAll(byId("charts"));
for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, tell);
document.addEventListener("scroll", () => (byId("tip").hidden = true), { passive: true });
byId("filters").hidden = false;
placeFilters(document.querySelector(".all"));
for (const all of document.querySelectorAll(".all")) all.addEventListener("toggle", () => all.open && placeFilters(all));
for (const id of ["rows-filter", "columns-filter"]) byId(id).addEventListener("input", filter);
document.querySelectorAll(".two").forEach((link) => (link.hidden = false));
