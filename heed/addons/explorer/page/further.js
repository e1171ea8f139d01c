// The pages that only a server has: the playground, and a search's results.

import { make } from "../../../report/page/shared/dom.js";
import { playgroundParts } from "./playground.js";
import { hashOf } from "./route.js";
import { foundParts } from "./search.js";

const PAGES = { playground, search };
const PLAIN = /^[\w./+@:,=-]+$/; // what a shell takes as it is

export const isFurther = (kind) => Object.hasOwn(PAGES, kind);

/** Return the command that opens the same pages from a server: of the folder of this file, if it lies where it was written. */
export function needsServer() {
  const folder = location.protocol === "file:" && location.pathname.match(/^(.*)\/report\.html$/);
  const path = folder ? decodeURIComponent(folder[1]) || "/" : "RUNS_DIR";
  const typed = PLAIN.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
  return `A file cannot do this. Type in a terminal: heed explore ${typed}`;
}

/** Return the children of the page that `route` names; `remember(choice)` writes into its address. */
export async function furtherParts(route, { source, folder, topic, remember }) {
  if (!source.ask) return [make("p", { class: "empty" }, needsServer())];
  return PAGES[route.kind](route, { source, folder, topic, remember });
}

function playground(route, { source, folder, topic, remember }) {
  if (!folder.playground.length) return [make("p", { class: "empty" }, folder.problem)];
  const link = (docid, condition) => hashOf(folder.folder, "document", docid, { topic: topic.qid, condition });
  return playgroundParts(source, { folder, topic, written: Object.fromEntries(route.query), link, remember });
}

async function search(route, { source, folder }) {
  const text = route.query.get("q") ?? "";
  const found = await source.search(folder.folder, text);
  return foundParts(found, text, folder, {
    topic: (qid) => hashOf(folder.folder, "topic", qid),
    document: (docid) => hashOf(folder.folder, "document", docid),
  });
}
