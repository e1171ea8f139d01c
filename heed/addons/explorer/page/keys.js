// Keys, and the list of them.

import { make } from "../../../report/page/shared/dom.js";

const ARROWS = { ArrowRight: "j", ArrowLeft: "k" };
const HELP = [
  ["j →   k ←", "next and previous document of the list"],
  ["c", "the same document, or rank, in the other condition's list"],
  ["o", "judge the document in annotate"],
  ["p", "playground: what if the instruction were another?"],
  ["] [", "next and previous topic"],
  ["s S", "next and previous system"],
  ["/", "search topics, with Enter documents too (Esc leaves)"],
  ["Esc", "close the document, then go back to the overview"],
  ["?", "this list"],
];

/** Return the dialog that lists the keys. */
export function helpDialog() {
  const lines = HELP.flatMap(([keys, text]) => [
    make("dt", {}, ...keys.split(/\s+/).map((key) => make("kbd", {}, key))),
    make("dd", {}, text),
  ]);
  return make(
    "dialog",
    { "aria-labelledby": "explorer-keys" },
    make("h2", { id: "explorer-keys" }, "Keys"),
    make("dl", {}, ...lines),
    make("form", { method: "dialog" }, make("button", { class: "primary" }, "Close")),
  );
}

/** Call the action of a key pressed outside of fields and dialogs while `isOpen()`. */
export function listen(actions, isOpen) {
  document.addEventListener("keydown", (event) => {
    const modified = event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.keyCode === 229; // of an IME
    if (modified || !isOpen() || document.querySelector("dialog[open]")) return;
    const field = event.target.closest("input, select, textarea");
    if (field && event.key !== "Escape") return;
    if (field) {
      event.preventDefault();
      field.blur();
      return;
    }
    const key = ARROWS[event.key] && !scrolls(event.target) ? ARROWS[event.key] : event.key;
    if (!Object.hasOwn(actions, key)) return;
    event.preventDefault();
    actions[key]();
  });
}

/** Return whether the element in focus needs the arrows itself. */
function scrolls(element) {
  const region = element.closest(".table");
  return region !== null && region.scrollWidth > region.clientWidth;
}
