// Keys, whatever the keyboard's language: the letter that a key writes counts first, then the key's place.

import { byId, make } from "./dom.js";

const SIGNS = { Slash: "/", BracketLeft: "[", BracketRight: "]" };

/** Keys in groups: [keys to show, what they do]. */
const TOLD = [
  ["0 … 9", "give this grade"],
  ["x", "take the grade away"],
  ["u", "undo the last change, and the one before …"],
  ["j →   k ←", "next and previous document"],
  ["n", "next document without a grade, then the next topic"],
  ["N", "next one judged before the narrative's last edit"],
  ["] [", "next and previous topic"],
  ["o   c", "judge under the original or the changed narrative"],
  ["e", "edit the changed narrative (Esc leaves)"],
  ["/", "note on this document (Enter or Esc leaves)"],
  ["h", "mark words, or not"],
  ["r", "a table as drawn, or as it came"],
  ["t", "show or hide the topics"],
  ["a", "agreement of assessors, and back"],
  ["?", "this list"],
];

/** Call the action of a key that is pressed outside of fields and dialogs: `actions` by letter, `grade(digit)`. */
export function listen(actions, grade) {
  byId("keys").replaceChildren(
    ...TOLD.flatMap(([keys, does]) => [
      make("dt", {}, ...keys.split(/\s+/).map((one) => make("kbd", {}, one))),
      make("dd", {}, does),
    ]),
  );
  document.addEventListener("keydown", (event) => {
    const meant = !(event.ctrlKey || event.metaKey || event.altKey || event.isComposing);
    if (!meant || document.querySelector("dialog[open]")) return;
    const field = event.target.closest("input, textarea");
    if (field) {
      if (event.key === "Escape" || (event.key === "Enter" && field.id === "note")) {
        event.preventDefault();
        field.blur();
        byId("document").focus({ preventScroll: true });
      }
      return;
    }
    const name = named(event, actions);
    if (name === undefined) return;
    event.preventDefault();
    if (event.repeat && !["j", "k"].includes(name)) return; // a grade given by a key held down is an accident
    if (/^\d$/.test(name)) grade(Number(name));
    else actions[name]();
  });
}

const ARROWS = { ArrowRight: "j", ArrowLeft: "k" };

function named(event, actions) {
  const known = (name) => /^\d$/.test(name) || Object.hasOwn(actions, name);
  if (ARROWS[event.key]) return event.target.closest("[role=tablist], .table") ? undefined : ARROWS[event.key];
  if (known(event.key)) return event.key;
  const letter = /^Key([A-Z])$/.exec(event.code)?.[1];
  const place = letter ? (event.shiftKey ? letter : letter.toLowerCase()) : undefined;
  const digit = /^(?:Digit|Numpad)(\d)$/.exec(event.code)?.[1];
  const sign = SIGNS[event.code] === "/" && event.shiftKey ? "?" : SIGNS[event.code];
  const latin = /^[a-z]$/i.test(event.key); // a Latin letter is meant as it is written, wherever it lies
  return [latin ? undefined : place, digit, sign].find((name) => name !== undefined && known(name));
}
