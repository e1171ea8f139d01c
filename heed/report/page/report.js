// Tables that are filtered, charts that are read with the pointer and with keys.

import { byId, fill } from "./shared/dom.js";

const SVG = "http://www.w3.org/2000/svg";

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

/** Show what the mark or figure under the pointer, or with the focus, says of itself. */
function tell(event) {
  const mark = event.target.closest?.("svg a, svg path");
  const title = mark && (mark.querySelector(":scope > title") ?? mark.closest("a")?.querySelector("title"));
  if (title) {
    title.parentElement.setAttribute("aria-label", title.textContent);
    title.remove(); // browsers would show it as well
  }
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

/** Make the marks of a chart one stop of the Tab key; arrows move between them. */
function reachable(chart) {
  const marks = [...chart.querySelectorAll("a")];
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

document.querySelectorAll("figure svg").forEach(reachable);
for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, tell);
document.addEventListener("scroll", () => (byId("tip").hidden = true), { passive: true });
byId("filters").hidden = false;
placeFilters(document.querySelector(".all"));
for (const all of document.querySelectorAll(".all")) all.addEventListener("toggle", () => all.open && placeFilters(all));
for (const id of ["rows-filter", "columns-filter"]) byId(id).addEventListener("input", filter);
document.querySelectorAll(".two").forEach((link) => (link.hidden = false));
