// Judgements that somebody doubts: flagged at a document, listed, kept by the server in a file.

import { make } from "../../../report/page/shared/dom.js";
import { foundLink } from "./search.js";

/** The flags that the server has, and the dialog for one of them. */
export class Flags {
  #source;
  #changed;
  #dialog;
  #flags = [];

  /** `changed()` is called when flags have been read or set. */
  constructor(source, changed) {
    this.#source = source;
    this.#changed = changed;
    this.#dialog = make("dialog", { "aria-labelledby": "flag-title" });
  }

  get dialog() {
    return this.#dialog;
  }

  async read() {
    this.#flags = await this.#source.flags();
    this.#changed();
  }

  of(folder) {
    return this.#flags.filter((flag) => flag.folder === folder);
  }

  /** Return the flags of a document under a topic. */
  at(folder, topic, docid) {
    return this.of(folder).filter((flag) => flag.topic === topic && flag.docid === docid);
  }

  /** Ask for a note, and flag the document's judgement under the topic and condition of `place`, or take it back. */
  ask(place, grade) {
    const known = this.at(place.folder, place.topic, place.docid).find((flag) => flag.condition === place.condition);
    const note = make("textarea", { rows: 4, maxlength: 4000, "aria-label": "Note", placeholder: "Why it is doubtful (may be empty). Enter saves, Shift+Enter begins a line." });
    note.value = known?.note ?? "";
    const problem = make("p", { class: "problem", role: "alert" });
    const send = async (flagged) => {
      try {
        await this.#source.flag({ ...place, note: note.value, flagged });
        this.#dialog.close();
        await this.read();
      } catch (error) {
        problem.textContent = error.message;
      }
    };
    const judged = grade === null ? "not judged" : `grade ${grade}`;
    const keys = (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      send(true);
    };
    note.addEventListener("keydown", keys);
    this.#dialog.replaceChildren(
      make("h2", { id: "flag-title" }, known ? "Flagged judgement" : "Flag this judgement"),
      make("p", { class: "soft" }, make("bdi", {}, place.docid), ` for topic ${place.topic}, ${place.condition}: ${judged}`),
      note,
      problem,
      make(
        "div",
        { class: "tabs" },
        make("button", { type: "button", class: "primary", onclick: () => send(true) }, known ? "Save note" : "Flag"),
        ...(known ? [make("button", { type: "button", onclick: () => send(false) }, "Take the flag back")] : []),
        make("button", { type: "button", onclick: () => this.#dialog.close() }, "Cancel"),
      ),
      make("p", { class: "soft" }, `Kept in ${this.#source.flagsFile}`),
    );
    this.#dialog.showModal();
    note.focus();
  }
}

/** Return the mark of a document's flags; null without any. */
export function flagMark(flags) {
  if (!flags.length) return null;
  const lines = flags.map(({ condition, note }) => `⚑ flagged under ${condition}${note ? `: ${note}` : ""}`);
  return make("p", { class: "flagged" }, ...lines.flatMap((line, i) => (i ? [make("br"), line] : [line])));
}

/** Return the children of the page that lists flags with titles; `link(flag)` is the address of a document in `language`. */
export function flagParts(flags, file, link, language) {
  const items = flags.map((flag) => {
    const judged = (flag.grade ?? -1) < 0 ? "not judged" : `grade ${flag.grade}`;
    const name = foundLink(link(flag), flag.docid, language, flag.title || flag.docid);
    const about = ` topic ${flag.topic}, ${flag.condition}, ${judged}, ${flag.time.replace("T", " ").replace("Z", " UTC")}`;
    const note = flag.note ? [make("p", { dir: "auto" }, flag.note)] : [];
    return make("li", {}, name, make("span", { class: "soft" }, about), ...note);
  });
  const none = make("p", { class: "soft" }, "No judgement is flagged. Press f at a document to flag one.");
  return [
    make("p", { class: "label" }, "Doubtful judgements"),
    make("h1", {}, flags.length === 1 ? "1 flag" : `${flags.length} flags`),
    items.length ? make("ol", { class: "found" }, ...items) : none,
    make("p", { class: "soft" }, `Kept in ${file}, a line of JSON each.`),
  ];
}
