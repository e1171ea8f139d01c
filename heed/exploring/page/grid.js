// The table in a text: Markdown as rows of cells, HTML as an element with the same cells and spans.

import { make } from "../../annotation/page/dom.js";

const HTML = /<(?:table|tr)[\s/>]/i;
const RULE = /^\|?(?:\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?$/;
const CELL = /\\.|\|/g;
const SPANS = ["colspan", "rowspan"];

export const isHtml = (text) => HTML.test(text);

/** Return {caption, header, body} of a pipe table; null for a text without one. */
export function markdownTable(text) {
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.trim());
  const rule = lines.findIndex((line) => line.includes("|") && RULE.test(line));
  if (rule < 0) return null;
  const isRow = (line, i) => (i < rule ? line.startsWith("|") || i === rule - 1 : line.includes("|"));
  const rows = lines.map((line, i) => (line && i !== rule && isRow(line, i) ? cells(line) : null));
  const width = Math.max(...rows.map((row) => row?.length ?? 0));
  const full = (row) => [...row, ...Array(width - row.length).fill("")];
  const outside = lines.filter((line, i) => line && i !== rule && !rows[i]);
  return {
    caption: outside.map((line) => line.replace(/^#{1,6}\s+/, "")).join(" "),
    header: rows.slice(0, rule).filter(Boolean).map(full),
    body: rows.slice(rule).filter(Boolean).map(full),
  };
}

function cells(line) {
  const cuts = [...line.matchAll(CELL)].filter(([mark]) => mark === "|").map((match) => match.index);
  const parts = [-1, ...cuts].map((cut, i) => line.slice(cut + 1, [...cuts, line.length][i]));
  if (line.startsWith("|")) parts.shift();
  if (parts.length > 1 && cuts.at(-1) === line.length - 1) parts.pop();
  return parts.map((part) => squeeze(part.replace(/\\([\\|<-])|<br\s*\/?>/gi, (_, escaped) => escaped ?? " ")));
}

const squeeze = (text) => text.replace(/\s+/g, " ").trim();

/** Return the table of an HTML text without its caption; a document that is only parsed runs and loads nothing. */
export function htmlTable(text, mark) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const table = page.querySelector("table");
  if (!table) return null;
  const texts = (tag, attributes, content) => make(tag, { dir: "auto", ...attributes }, ...mark(squeeze(content)));
  const cellOf = (cell, tag) => texts(tag, spansOf(cell), cell.textContent);
  const rowOf = (row, tag) => make("tr", {}, ...[...row.cells].map((cell) => cellOf(cell, tag ?? cell.localName)));
  const heads = table.tHead ? [...table.tHead.rows] : leading([...table.rows]);
  const bodies = [...table.rows].filter((row) => !heads.includes(row));
  const head = heads.map((row) => rowOf(row, "th"));
  const body = bodies.map((row) => rowOf(row));
  const element = make("table", {}, make("thead", {}, ...head), make("tbody", {}, ...body));
  return make("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Table" }, element);
}

/** Return the rows at the top whose cells are all header cells. */
function leading(rows) {
  const end = rows.findIndex((row) => [...row.cells].some((cell) => cell.tagName !== "TH"));
  return rows.slice(0, end < 0 ? 0 : end);
}

function spansOf(cell) {
  const given = SPANS.filter((name) => cell.hasAttribute(name));
  return Object.fromEntries(given.map((name) => [name, cell.getAttribute(name)]));
}
