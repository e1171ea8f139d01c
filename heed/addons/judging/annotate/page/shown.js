// Whether the document in view has been on screen long enough for a grade of it to count.

import { byId } from "./dom.js";

const SETTLING = 150; // ms; a second press of a key comes sooner, a reader's next one does not
const IN_SIGHT = "-10% 0px -35%"; // of the window: what is under bars at its edges is not read

let drawn = ""; // docid of the document on the page
let inSight = false;
let frame = 0;
let timer = 0;

/** Start to watch whether the document is in sight. */
export function watchDocument() {
  const place = byId("document");
  const seen = (entries) => {
    inSight = entries.at(-1).isIntersecting;
    settle();
  };
  new IntersectionObserver(seen, { rootMargin: IN_SIGHT }).observe(place);
  document.addEventListener("visibilitychange", settle);
}

/** Note which document is on the page; empty while there is none. */
export function setDrawn(docid) {
  byId("document").dataset.docid = docid;
  if (docid === drawn) return; // drawn again with other words marked
  drawn = docid;
  settle();
}

/** Return whether a document is on the page. */
export const isDrawn = (docid) => drawn === docid;

/** Return why a document has not been seen; empty once it has been in sight for long enough. */
export function unseen(docid) {
  if (byId("document").dataset.shown === docid) return "";
  if (!isDrawn(docid)) return "it is not on the page";
  return inSight ? "it has only just appeared" : "it was out of sight";
}

function settle() {
  cancelAnimationFrame(frame);
  clearTimeout(timer);
  const place = byId("document");
  delete place.dataset.shown;
  if (!drawn || !inSight || document.hidden) return;
  const count = () => {
    timer = setTimeout(() => {
      place.dataset.shown = drawn;
    }, SETTLING);
  };
  frame = requestAnimationFrame(() => {
    frame = requestAnimationFrame(count); // the frame before is on screen by now
  });
}
