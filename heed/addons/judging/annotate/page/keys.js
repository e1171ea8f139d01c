// Keys on any keyboard layout: the character that a key types counts first, then the key's position.

import { byId, make } from "./dom.js";

const SIGNS = { Slash: "/", BracketLeft: "[", BracketRight: "]" };
const ARROWS = { ArrowRight: "j", ArrowLeft: "k" };

/** The help: keys, and what they do. */
const HELP = [
  ["0 … 9", "give this grade"],
  ["x", "take the grade away"],
  ["m", "mark the grade as unsure, before or after it is given"],
  ["p   P", "the passage that decided: what is selected, or the next and the previous sentence"],
  ["l   d", "a sentence longer; no passage"],
  ["s", "skip: the document comes back when the others are judged"],
  ["u", "undo the last change, and the one before …"],
  ["j →   k ←", "next and previous document"],
  ["n", "next document to judge, then the next topic"],
  ["N", "next one to read again under the changed narrative"],
  ["] [", "next and previous topic"],
  ["o   c", "judge under the original or the changed narrative"],
  ["g", "under the changed narrative: only what was relevant, or all"],
  ["e", "edit the changed narrative (Esc leaves)"],
  ["/", "note on this document (Enter or Esc leaves)"],
  ["i", "the guidelines, or not"],
  ["h", "mark words, or not"],
  ["r", "a table, or its source"],
  ["t", "show or hide the topics"],
  ["a", "agreement of assessors, and back; there grades decide, j k n x as here"],
  ["?", "this list"],
];

/**
 * Call the action of a key that is pressed outside of fields and dialogs: `actions` by key, `grade(digit)`; and
 * `left(field)` when a key has left a field.
 */
export function listen(actions, grade, left) {
  byId("keys").replaceChildren(
    ...HELP.flatMap(([keys, description]) => [
      make("dt", {}, ...keys.split(/\s+/).map((key) => make("kbd", {}, key))),
      make("dd", {}, description),
    ]),
  );
  document.addEventListener("keydown", (event) => {
    const modified = event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.keyCode === 229; // of an IME
    if (modified || document.querySelector("dialog[open]")) return;
    const field = event.target.closest("input, textarea:not([readonly])");
    if (field) {
      if (event.key === "Escape" || (event.key === "Enter" && field.id === "note")) {
        event.preventDefault();
        field.blur();
        byId("document").focus({ preventScroll: true });
        left(field);
      }
      return;
    }
    const key = keyOf(event, actions);
    if (key === undefined) return;
    event.preventDefault();
    if (event.repeat && !["j", "k"].includes(key)) return; // a grade given by a key held down is an accident
    if (/^\d$/.test(key)) grade(Number(key));
    else actions[key]();
  });
}

function keyOf(event, actions) {
  const isKnown = (key) => /^\d$/.test(key) || Object.hasOwn(actions, key);
  if (ARROWS[event.key]) return hasArrows(event.target) ? undefined : ARROWS[event.key];
  if (isKnown(event.key)) return event.key;
  const letter = /^Key([A-Z])$/.exec(event.code)?.[1];
  const position = letter ? (event.shiftKey ? letter : letter.toLowerCase()) : undefined;
  const digit = /^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1];
  const sign = SIGNS[event.code] === "/" && event.shiftKey ? "?" : SIGNS[event.code];
  const isLatin = /^[a-z]$/i.test(event.key); // a Latin letter counts as it is typed, wherever its key is
  return [isLatin ? undefined : position, digit, sign].find((key) => key !== undefined && isKnown(key));
}

/** Return whether the element in focus needs the arrows itself. */
function hasArrows(element) {
  const region = element.closest(".table");
  return element.closest("[role=tablist]") !== null || (region !== null && region.scrollWidth > region.clientWidth);
}
