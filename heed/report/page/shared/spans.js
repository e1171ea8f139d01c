// How an instruction is read: {text, spans, corrected}. Spans are [start, end, kind], of characters, not of UTF-16 units.

import { make } from "./dom.js";

/** Return a mark of each kind, as a key. */
export const kindMarks = () => ["asked", "excluded", "neutral"].map((kind) => make("mark", { "data-kind": kind }, kind));

/** Return a text with its spans marked, as children of an element; those that a person has corrected have a frame. */
export function markSpans({ text, spans, corrected }) {
  const letters = [...text];
  const part = (from, to) => letters.slice(from, to).join("");
  const marks = spans.flatMap(([from, to, kind], i) => {
    const isOwn = corrected.some(([start]) => start === from);
    return [part(spans[i - 1]?.[1] ?? 0, from), make("mark", { "data-kind": kind, "data-new": isOwn }, part(from, to))];
  });
  return [...marks, part(spans.at(-1)?.[1] ?? 0)];
}

/** Mark how the text of a field is read in the element before it, which is seen through the field. */
export function markField(field, read) {
  const under = field.previousElementSibling;
  under.replaceChildren(...markSpans(read), "\n"); // a last line may be empty
  under.scrollTop = field.scrollTop;
}

/** Return what is left of spans outside of the characters from `from` to `to`; what follows is moved by `by`. */
export const outside = (spans, from, to, by = 0) =>
  spans
    .flatMap(([start, end, kind]) => [[start, Math.min(end, from), kind], [Math.max(start, to) + by, end + by, kind]])
    .filter(([start, end]) => start < end);

/** Return what is kept of a reading when its text has been edited: what differs is in no span. */
export function kept({ text: before, spans, corrected }, text) {
  const [a, b] = [[...before], [...text]];
  let head = 0;
  while (head < a.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(a.length, b.length) - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const left = (of) => (before === text ? of : outside(of, head, a.length - tail, b.length - a.length));
  return { text, spans: left(spans), corrected: left(corrected) };
}
