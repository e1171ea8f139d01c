// A document that is a table: its header rows stay in sight while it is scrolled in a region of its own.

import { make, setLanguage } from "./dom.js";

const MOST_STICKY = 4; // header rows; more of them would cover the body

/** Return `table` (caption, header, body) as an element that scrolls; `mark(text)` gives a cell's children. */
export function tableRegion(table, mark, language) {
  const texts = (tag, attributes, text) => make(tag, { dir: "auto", ...attributes }, ...mark(text));
  const header = headerCells(table.header).map((cells) =>
    make("tr", {}, ...cells.map(({ text, ...spans }) => texts("th", { ...spans }, text))),
  );
  const body = table.body.map((row) => make("tr", {}, ...row.map((cell) => texts("td", {}, cell))));
  const sticky = header.length <= MOST_STICKY;
  const element = make("table", {}, make("thead", { "data-sticky": sticky }, ...header), make("tbody", {}, ...body));
  if (table.caption) element.prepend(texts("caption", {}, table.caption));
  const label = table.caption ? `Table: ${table.caption}` : "Table";
  return make("div", { class: "table", tabindex: 0, role: "region", "aria-label": label }, setLanguage(element, language));
}

/**
 * Return the header's cells row by row: equal neighbours are one cell again, as they were before spans were written
 * out. Across, they are so above the last row alone, where columns of one name are different columns.
 */
function headerCells(header) {
  const covered = header.map(() => []);
  return header.map((texts, row) => {
    const cells = [];
    for (let column = 0; column < texts.length; ) {
      if (covered[row][column]) {
        column += 1;
        continue;
      }
      const across = spanAcross(header, row, column, covered);
      const down = across > 1 ? 1 : spanDown(header, row, column);
      for (let below = 1; below < down; below += 1) covered[row + below][column] = true;
      cells.push({
        text: texts[column],
        scope: across > 1 ? "colgroup" : "col",
        colspan: across > 1 ? across : null,
        rowspan: down > 1 ? down : null,
      });
      column += across;
    }
    return cells;
  });
}

function spanAcross(header, row, column, covered) {
  const text = header[row][column];
  let width = 1;
  if (row === header.length - 1 || !text) return width;
  while (header[row][column + width] === text && !covered[row][column + width]) width += 1;
  return width;
}

function spanDown(header, row, column) {
  const text = header[row][column];
  const isGroup = (at) => at < header.length - 1 && [column - 1, column + 1].some((near) => header[at][near] === text);
  let height = 1;
  while (row + height < header.length && header[row + height][column] === text && !isGroup(row + height)) height += 1;
  return height;
}
