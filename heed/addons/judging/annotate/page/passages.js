// Passages of a document, {part, start, end, text}: of its title or its text, in characters, not in UTF-16 units.

import { documentLanguage } from "./state.js";

const length = (text) => [...text].length;
const blocksOf = (place) => [...place.querySelectorAll("[data-part]")];
const startOf = (block) => Number(block.dataset.start); // in UTF-16 units

/** Return the passage between two UTF-16 units, without white space at its ends; undefined if nothing is left. */
function passageOf(data, part, from, to) {
  const text = data[part].slice(from, to);
  if (!text.trim()) return undefined;
  const start = length(data[part].slice(0, from) + text) - length(text.trimStart());
  return { part, start, end: start + length(text.trim()), text: text.trim() };
}

/** Return the passage that is selected; undefined if none is. */
function selected(data, place) {
  const selection = getSelection();
  if (selection.isCollapsed) return undefined;
  const range = selection.getRangeAt(0);
  const blocks = blocksOf(place).filter((block) => range.intersectsNode(block));
  if (!blocks.length) return undefined;
  const { part } = blocks[0].dataset;
  const [first, last] = [blocks[0], blocks.findLast((block) => block.dataset.part === part)];
  const whole = document.createRange();
  whole.setStart(first, 0);
  if (first.contains(range.startContainer)) whole.setEnd(range.startContainer, range.startOffset);
  const from = startOf(first) + whole.toString().length;
  whole.selectNodeContents(last);
  if (last.contains(range.endContainer)) whole.setEnd(range.endContainer, range.endOffset);
  selection.removeAllRanges();
  return passageOf(data, part, from, startOf(last) + whole.toString().length);
}

/** Return the sentences of some blocks. */
function sentences(data, blocks) {
  const segmenter = new Intl.Segmenter(documentLanguage().tag, { granularity: "sentence" });
  return blocks.flatMap((block) =>
    [...segmenter.segment(block.textContent)].flatMap(({ index, segment }) => {
      const from = startOf(block) + index;
      return passageOf(data, block.dataset.part, from, from + segment.length) ?? [];
    }),
  );
}

const isAfter = (sentence, { part, end }) => (sentence.part === part ? sentence.start >= end : part === "title");
const isBefore = (sentence, { part, start }) => (sentence.part === part ? sentence.end <= start : part === "text");

/** Return the first sentence that is in sight, or the one after a passage; undefined if there is none. */
function following(data, place, before) {
  if (before) return sentences(data, blocksOf(place)).find((each) => isAfter(each, before));
  const { top } = place.getBoundingClientRect();
  return sentences(data, blocksOf(place).filter((block) => block.getBoundingClientRect().bottom > top))[0];
}

/** The ways to choose a passage from the one before: each returns one, null for none, or undefined if there is no such. */
export const choices = {
  next: (data, place, before) => selected(data, place) ?? following(data, place, before),
  previous: (data, place, before) =>
    before ? sentences(data, blocksOf(place)).findLast((each) => isBefore(each, before)) : undefined,
  longer(data, place, before) {
    const next = before && following(data, place, before);
    if (!next || next.part !== before.part) return undefined;
    return { ...before, end: next.end, text: [...data[before.part]].slice(before.start, next.end).join("") };
  },
  none: () => null,
};

/** Mark passages, those that the document still has, at `place`, in the style of `name`; return their ranges. */
export function highlight(name, data, place, passages) {
  const ranges = passages.flatMap(({ part, start, end, text }) => {
    const characters = [...data[part]];
    if (characters.slice(start, end).join("") !== text) return [];
    const from = characters.slice(0, start).join("").length;
    return blocksOf(place)
      .filter((block) => block.dataset.part === part)
      .flatMap((block) => rangesIn(block, from - startOf(block), from + text.length - startOf(block)));
  });
  globalThis.CSS.highlights?.set(name, new Highlight(...ranges));
  return ranges;
}

/** Return ranges of what is between two UTF-16 units of a block, one for each of its texts. */
function rangesIn(block, from, to) {
  const texts = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  const ranges = [];
  for (let at = 0; texts.nextNode(); at += texts.currentNode.length) {
    const node = texts.currentNode;
    const [first, last] = [Math.max(from - at, 0), Math.min(to - at, node.length)];
    if (first >= last) continue;
    const range = document.createRange();
    range.setStart(node, first);
    range.setEnd(node, last);
    ranges.push(range);
  }
  return ranges;
}
