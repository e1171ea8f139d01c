// The guidelines for assessors, beside the document: paragraphs, and headings, lists and emphasis as in Markdown.

import { byId, make, toast } from "./dom.js";
import { page } from "./state.js";

const HEADING = /^#{1,6}\s+/;

/** Draw the task's guidelines, in sight if they were so before. */
export function prepareGuidelines() {
  const blocks = page.task.guidelines.replaceAll("\r", "").split(/\n\s*\n|(?<=^#.*)\n/m).filter((text) => text.trim());
  const close = make("button", { class: "plain", title: "Close (i)", onclick: toggleGuidelines }, "×");
  const head = make("p", { class: "label row" }, "Guidelines", make("i", { class: "spring" }), close);
  byId("guidelines").replaceChildren(head, ...blocks.map(block));
  byId("guidelines-button").hidden = !blocks.length;
  show(blocks.length > 0 && localStorage.getItem("heed-guidelines") === "on");
}

function block(text) {
  const [tag, content] = HEADING.test(text) ? ["h2", text.replace(HEADING, "")] : ["p", text];
  const shown = content.trim().replace(/^\s*[-*]\s+/gm, "• ").replace(/\[([^\]\n]+)\]\((\S+?)\)/g, "$1 ($2)");
  const parts = shown.split(/\*{1,2}(\S[^*\n]*)\*{1,2}/);
  return make(tag, { dir: "auto" }, ...parts.map((part, place) => (place % 2 ? make("b", {}, part) : part)));
}

function show(isShown) {
  byId("guidelines").hidden = !isShown;
  byId("guidelines-button").setAttribute("aria-expanded", String(isShown));
}

/** Show the guidelines, or hide them. */
export function toggleGuidelines() {
  if (!page.task.guidelines.trim()) return toast("This campaign has no guidelines; heed annotate has --guidelines FILE.");
  const isShown = byId("guidelines").hidden;
  localStorage.setItem("heed-guidelines", isShown ? "on" : "off");
  show(isShown);
  if (!isShown && byId("guidelines").contains(document.activeElement)) byId("document").focus();
}
