// What an edit changed, word by word.

import { segments } from "./words.js";

const MOST_CELLS = 3e7; // of the table of common subsequences; beyond it the middle counts as rewritten

/** Words with the white space behind them, so that a space is never an edit of its own. */
export function tokens(text, language) {
  const found = [];
  for (const { segment } of segments(text, language)) {
    if (found.length && !segment.trim()) found[found.length - 1] += segment;
    else found.push(segment);
  }
  return found;
}

/** Pieces {kind: "same" | "out" | "in", text} that lead from one text to the other. */
export function difference(before, after, language) {
  const [a, b] = [tokens(before, language), tokens(after, language)];
  const equal = (i, j) => a[i].trim() === b[j].trim();
  let head = 0;
  while (head < a.length && head < b.length && equal(head, head)) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && equal(a.length - 1 - tail, b.length - 1 - tail)) tail += 1;
  const kinds = [
    ...b.slice(0, head).map((text) => ({ kind: "same", text })),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...b.slice(b.length - tail).map((text) => ({ kind: "same", text })),
  ];
  return joined(withoutIslands(kinds));
}

/** The longest common subsequence (dynamic programming) as kept, the rest as taken out or put in. */
function middle(a, b) {
  const gone = (texts, kind) => texts.map((text) => ({ kind, text }));
  if (!a.length || !b.length || a.length * b.length > MOST_CELLS) return [...gone(a, "out"), ...gone(b, "in")];
  const wide = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * wide);
  const [left, right] = [a.map((one) => one.trim()), b.map((one) => one.trim())];
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * wide + j;
      longest[at] = left[i] === right[j] ? longest[at + wide + 1] + 1 : Math.max(longest[at + wide], longest[at + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [more, moreAfter] = [i < a.length, j < b.length];
    if (more && moreAfter && left[i] === right[j]) {
      found.push({ kind: "same", text: b[j] });
      i += 1;
      j += 1;
    } else if (more && (!moreAfter || longest[(i + 1) * wide + j] >= longest[i * wide + j + 1])) {
      found.push({ kind: "out", text: a[i] });
      i += 1;
    } else {
      found.push({ kind: "in", text: b[j] });
      j += 1;
    }
  }
  return found;
}

/** A comma or a particle that survives inside a rewritten passage reads better as rewritten too. */
function withoutIslands(pieces) {
  const changed = (at) => at >= 0 && at < pieces.length && pieces[at].kind !== "same";
  return pieces.flatMap((piece, at) => {
    const island = piece.kind === "same" && piece.text.trim().length <= 1 && changed(at - 1) && changed(at + 1);
    return island ? ["out", "in"].map((kind) => ({ kind, text: piece.text })) : [piece];
  });
}

/** Neighbours of a kind as one piece; within a change first all that went, then all that came. */
function joined(pieces) {
  const found = [];
  let change = { out: "", in: "" };
  const close = () => {
    for (const kind of ["out", "in"]) if (change[kind]) found.push({ kind, text: change[kind] });
    change = { out: "", in: "" };
  };
  for (const { kind, text } of pieces) {
    if (kind !== "same") {
      change[kind] += text;
      continue;
    }
    close();
    if (found.at(-1)?.kind === "same") found.at(-1).text += text;
    else found.push({ kind, text });
  }
  close();
  return found;
}

/** How many words came and went. */
export function counted(pieces, language) {
  const words = (kind) =>
    pieces
      .filter((one) => one.kind === kind)
      .reduce((sum, one) => sum + [...segments(one.text, language)].filter((part) => part.isWordLike).length, 0);
  return { in: words("in"), out: words("out") };
}
