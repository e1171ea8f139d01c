// The difference of two texts, word by word.

import { segments } from "./words.js";

const MOST_CELLS = 3e7; // of the table of common subsequences; beyond it the middle counts as rewritten

/** Return the words of a text with the white space behind them, so that a space is never an edit by itself. */
function tokens(text, language) {
  const words = [];
  for (const { segment } of segments(text, language)) {
    if (words.length && !segment.trim()) words[words.length - 1] += segment;
    else words.push(segment);
  }
  return words;
}

/** Return pieces {kind: "same" | "out" | "in", text} that lead from one text to the other. */
export function difference(before, after, language) {
  const [a, b] = [tokens(before, language), tokens(after, language)];
  const equal = (i, j) => a[i].trim() === b[j].trim();
  let head = 0;
  while (head < a.length && head < b.length && equal(head, head)) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && equal(a.length - 1 - tail, b.length - 1 - tail)) tail += 1;
  const pieces = [
    ...piecesOf(b.slice(0, head), "same"),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...piecesOf(b.slice(b.length - tail), "same"),
  ];
  return merged(withoutIslands(pieces));
}

const piecesOf = (texts, kind) => texts.map((text) => ({ kind, text }));

/** Return the longest common subsequence (dynamic programming) as the same, the rest as taken out or put in. */
function middle(a, b) {
  if (!a.length || !b.length || a.length * b.length > MOST_CELLS) return [...piecesOf(a, "out"), ...piecesOf(b, "in")];
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  const [left, right] = [a.map((text) => text.trim()), b.map((text) => text.trim())];
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const cell = i * width + j;
      longest[cell] =
        left[i] === right[j] ? longest[cell + width + 1] + 1 : Math.max(longest[cell + width], longest[cell + 1]);
    }
  }
  const pieces = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [moreBefore, moreAfter] = [i < a.length, j < b.length];
    if (moreBefore && moreAfter && left[i] === right[j]) {
      pieces.push({ kind: "same", text: b[j] });
      i += 1;
      j += 1;
    } else if (moreBefore && (!moreAfter || longest[(i + 1) * width + j] >= longest[i * width + j + 1])) {
      pieces.push({ kind: "out", text: a[i] });
      i += 1;
    } else {
      pieces.push({ kind: "in", text: b[j] });
      j += 1;
    }
  }
  return pieces;
}

/** Show a comma or a particle inside a rewritten passage as rewritten too, which reads better. */
function withoutIslands(pieces) {
  const changed = (i) => i >= 0 && i < pieces.length && pieces[i].kind !== "same";
  return pieces.flatMap((piece, i) => {
    const island = piece.kind === "same" && piece.text.trim().length <= 1 && changed(i - 1) && changed(i + 1);
    return island ? ["out", "in"].map((kind) => ({ kind, text: piece.text })) : [piece];
  });
}

/** Merge neighbours of a kind; within a change first all that was taken out, then all that was put in. */
function merged(pieces) {
  const result = [];
  let change = { out: "", in: "" };
  const close = () => {
    for (const kind of ["out", "in"]) if (change[kind]) result.push({ kind, text: change[kind] });
    change = { out: "", in: "" };
  };
  for (const { kind, text } of pieces) {
    if (kind !== "same") {
      change[kind] += text;
      continue;
    }
    close();
    if (result.at(-1)?.kind === "same") result.at(-1).text += text;
    else result.push({ kind, text });
  }
  close();
  return result;
}

/** Return how many words were put in and taken out. */
export function wordCounts(pieces, language) {
  const words = (kind) =>
    pieces
      .filter((piece) => piece.kind === kind)
      .reduce((sum, piece) => sum + [...segments(piece.text, language)].filter((part) => part.isWordLike).length, 0);
  return { in: words("in"), out: words("out") };
}
