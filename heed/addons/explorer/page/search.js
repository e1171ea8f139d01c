// What a search found: topics and documents of a results folder.

import { make, setLanguage } from "../../../report/page/shared/dom.js";

/** Return the children of the page of a search's results; `link` has the addresses topic(qid), document(docid). */
export function foundParts(found, text, folder, link) {
  const languages = new Map(folder.topics.map((topic) => [topic.qid, topic.language]));
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const topics = found.topics.map(({ qid, query, condition, excerpt }) =>
    entry(link.topic(qid), qid, query, condition && `${condition}: `, excerpt, languages.get(qid), words),
  );
  const documents = found.documents.map(({ docid, title, excerpt }) =>
    entry(link.document(docid), docid, title, "", excerpt, folder.language, words),
  );
  return [
    make("p", { class: "label" }, "Search"),
    make("h1", {}, make("bdi", {}, text)),
    part("Topics", topics, "No topic has all these words."),
    part("Documents", documents, "No document was found."),
    make("p", { class: "soft" }, found.way),
  ];
}

function part(name, items, none) {
  const heading = make("h2", { class: "label" }, name, " ", make("span", {}, items.length ? String(items.length) : ""));
  const body = items.length ? make("ol", { class: "found" }, ...items) : make("p", { class: "soft" }, none);
  return make("section", { "aria-label": name }, heading, body);
}

function entry(href, id, title, where, excerpt, language, words) {
  const name = setLanguage(make("span", { class: "name" }, ...marked(title || id, words)), language);
  const link = make("a", { href }, name, " ", make("span", { class: "id" }, make("bdi", {}, id)));
  const text = excerpt ? [setLanguage(make("p", {}, ...marked(excerpt, words)), language)] : [];
  if (text.length && where) text[0].prepend(make("span", { class: "soft" }, where));
  return make("li", {}, link, ...text);
}

/** Return `text` as strings and marks of the words searched for. */
function marked(text, words) {
  const low = text.toLowerCase();
  if (low.length !== text.length) return [text]; // places would differ
  const parts = [];
  let end = 0;
  for (;;) {
    const places = words.map((word) => [low.indexOf(word, end), word.length]).filter(([at]) => at >= 0);
    if (!places.length) return [...parts, text.slice(end)];
    const [at, length] = places.reduce((first, next) => (next[0] < first[0] ? next : first));
    parts.push(text.slice(end, at), make("mark", { "data-kind": "query" }, text.slice(at, at + length)));
    end = at + length;
  }
}
