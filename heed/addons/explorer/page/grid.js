// The table in a text in Markdown, as heed/tables/markup.py reads it.

const HEADING = /^#{1,6}(?:\s+|$)/;
const PIPE = /\\.|\|/g;
const PIPE_OUTSIDE_CODE = /\\.|`[^`]*`|\|/g;
const RULE = /^\s*:?-+:?\s*$/;

/** Return {caption, header, body} of the first pipe table, what else the text holds as its caption; null without one. */
export function markdownTable(text) {
  const outside = [];
  let header = [];
  let body = [];
  for (const block of blocks(text)) {
    const { before, above, below } = readBlock(block);
    outside.push(...before);
    if (header.length || body.length) body.push(...above, ...below);
    else [header, body] = [above, below];
  }
  const width = Math.max(0, ...[...header, ...body].map((row) => row.length));
  const full = (row) => [...row, ...Array(width - row.length).fill("")];
  if (!width) return null;
  return { caption: squeeze(outside.join(" ")), header: header.map(full), body: body.map(full) };
}

/** Return the lines between blank ones, headings by themselves. */
function blocks(text) {
  const result = [[]];
  for (const line of text.split(/\r\n|\r|\n/).map((each) => each.trim())) {
    const isHeading = HEADING.test(line);
    if ((isHeading || !line) && result.at(-1).length) result.push([]);
    if (line) result.at(-1).push(line);
    if (isHeading) result.push([]);
  }
  return result.filter((block) => block.length);
}

function readBlock(block) {
  if (HEADING.test(block[0])) return { before: [block[0].replace(HEADING, "")], above: [], below: [] };
  const rule = block.findIndex(isRule);
  if (rule < 0) {
    const piped = block.filter((line) => line.startsWith("|"));
    const rows = piped.map((line) => cells(line, split(piped[0], PIPE).length));
    const before = block.filter((line) => !line.startsWith("|"));
    return rows.length > 1 ? { before, above: rows.slice(0, 1), below: rows.slice(1) } : { before, above: [], below: rows };
  }
  let start = Math.max(rule - 1, 0);
  while (start && block[start - 1].startsWith("|")) start -= 1;
  const width = split(block[rule], PIPE).length;
  const rows = (lines) => lines.map((line) => cells(line, width));
  return { before: block.slice(0, start), above: rows(block.slice(start, rule)), below: rows(block.slice(rule + 1)) };
}

const isRule = (line) => line.includes("|") && split(line, PIPE).every((cell) => RULE.test(cell));

function cells(line, width) {
  const withCode = split(line, PIPE_OUTSIDE_CODE);
  const parts = withCode.length === width ? withCode : split(line, PIPE);
  return parts.map((part) => squeeze(part.replace(/\\([\\|<-])|<br\s*\/?>/gi, (_, escaped) => escaped ?? " ")));
}

function split(line, mark) {
  const cuts = [...line.matchAll(mark)].filter(([found]) => found === "|").map((found) => found.index);
  const ends = [...cuts, line.length];
  const parts = [-1, ...cuts].map((cut, i) => line.slice(cut + 1, ends[i]));
  if (line.startsWith("|")) parts.shift();
  if (parts.length > 1 && cuts.at(-1) === line.length - 1) parts.pop();
  return parts;
}

const squeeze = (text) => text.replace(/[\s\p{Cc}]+/gu, " ").trim();
