// Tables that are sorted by their heads.

import { make } from "./shared/dom.js";

/** Let the columns of a table be sorted by their heads. */
export function sortable(table) {
  for (const head of table.tHead.rows[0].cells) {
    const button = make("button", { type: "button", title: head.title || "Sort" }, ...head.childNodes);
    button.addEventListener("click", () => sort(table, head));
    head.append(button);
  }
}

function sort(table, head) {
  const body = table.tBodies[0];
  const column = head.cellIndex;
  const texts = head.classList.contains("name");
  const first = texts ? "ascending" : "descending";
  const order = head.ariaSort === first ? (texts ? "descending" : "ascending") : first;
  const sign = order === "ascending" ? 1 : -1;
  for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
  head.ariaSort = order;
  const collator = new Intl.Collator(undefined, { numeric: true });
  const keyed = [...body.rows].map((row) => [keyOf(row.cells[column], texts), row]);
  keyed.sort(([a], [b]) => {
    if (texts) return sign * collator.compare(a, b);
    return Number.isNaN(a) - Number.isNaN(b) || sign * (a - b); // what is absent comes last either way
  });
  body.append(...keyed.map(([, row]) => row));
}

function keyOf(cell, texts) {
  if (texts) return cell.textContent;
  return cell.dataset.value ? Number(cell.dataset.value) : Number.parseFloat(cell.textContent.replace("−", "-"));
}

document.querySelectorAll(".sortable").forEach(sortable);
