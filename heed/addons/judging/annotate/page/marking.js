// Which words of a document are marked: those of query, narrative and its edit. Where the server knows the terms of the
// texts, they are those that BM25 matches; else they are found by stems. What a document is marked by is a view of it:
// {qid, original, changed, tab}, the topic with its narratives, and the one that is judged by.

import { post } from "./server.js";
import { documentLanguage, topicOf } from "./state.js";
import { isCommon, marked, newTerms, pieces, termsOf } from "./words.js";

const CACHE_SIZE = 100; // texts
const known = new Map(); // text -> its terms: first character, the one after the last, term
let analysed = ""; // the language that the texts were analysed in
let answer = ""; // of the server: "terms", "none", or empty before the first one

const placesOf = (text) => (text ? known.get(text) : []);

/** Return the texts of a document that are marked, as they are drawn. */
function partsOf({ title, text, table }) {
  if (!table) return [title, ...linesOf(text).map(([line]) => line)];
  return [title, ...new Set([table.caption, ...table.header.flat(), ...table.body.flat()])];
}

/** Return the lines of a text that are not empty, as matches with their `index` in it. */
export const linesOf = (text) => [...text.matchAll(/[^\n]+/g)].filter(([line]) => line.trim());

/** Return the query and narratives that a document is marked by, and the document as one text. */
function textsOf(data, { qid, original, changed, tab }) {
  const narratives = tab === "changed" ? [original, changed] : [original];
  return [topicOf(qid).query, ...narratives, partsOf(data).join("\n")];
}

/** Return whether a document can be marked as BM25 matches it, now. */
export const isAnalysed = (data, view) => textsOf(data, view).every(placesOf);

/** Wait for the terms of a document that are requested, as long as it may wait: not until the server has Java. */
export const patience = (request) =>
  Promise.race([request, new Promise((resolve) => setTimeout(resolve, answer === "terms" ? 200 : 0))]);

/** Request the terms that a document is marked by; return whether they are there. */
export async function analyse(data, view) {
  const { tag } = documentLanguage(view.qid);
  if (tag !== analysed) known.clear(); // a query has other terms in another language
  analysed = tag;
  const texts = textsOf(data, view);
  const missing = texts.filter((text) => !placesOf(text));
  if (missing.length && answer !== "none") {
    try {
      const { terms } = await post("/api/terms", { qid: view.qid, texts: missing });
      answer = terms ? "terms" : "none";
      terms?.forEach((places, i) => known.set(missing[i], places));
    } catch {
      return false; // the server is down, or the document too large for a request
    }
  }
  for (const text of texts.filter((each) => known.has(each))) {
    const places = known.get(text); // least recently used ones are dropped
    known.delete(text);
    known.set(text, places);
  }
  while (known.size > CACHE_SIZE) known.delete(known.keys().next().value);
  return texts.every(placesOf);
}

/** Return the kinds of words to mark, and a function that returns the pieces {text, kind} of a part of the document. */
export function marking(data, view) {
  const exact = isAnalysed(data, view);
  const { query, language } = topicOf(view.qid);
  const terms = (text, pairs) =>
    exact ? termsAt(text, placesOf(text), language.tag) : termsOf(text, language.tag, pairs);
  const original = terms(view.original);
  const changed = view.tab === "changed" ? terms(view.changed) : original;
  const byKind = {
    query: terms(query, true),
    edit: exact ? new Set([...changed].filter((term) => !original.has(term))) : newTerms(changed, original),
    narrative: changed,
  };
  const size = (found) => (exact ? found.size : found.stems.size + found.runs.size);
  const kinds = ["query", "narrative", "edit"].filter((kind) => size(byKind[kind]));
  if (!exact) return { kinds, mark: (text) => marked(text, documentLanguage(view.qid).tag, byKind) };
  return { kinds, mark: exactly(partsOf(data), byKind) };
}

/** Return the terms of a text without those of common words. */
export function termsAt(text, places, language) {
  return new Set(places.filter(([from, to]) => !isCommon(text.slice(from, to), language)).map(([, , term]) => term));
}

function exactly(parts, byKind) {
  const source = parts.join("\n");
  const begins = new Map();
  let begin = 0;
  for (const part of parts) {
    begins.set(part, begin);
    begin += part.length + 1;
  }
  const marks = marksAt(source.length, placesOf(source), byKind);
  return (text) => pieces(text, marks.subarray(begins.get(text)), Object.keys(byKind));
}

/** Return of each character the number, from 1, of the first name whose terms are there, or 0. */
export function marksAt(length, places, termsByName) {
  const marks = new Uint8Array(length);
  const sets = Object.values(termsByName);
  for (let i = sets.length; i > 0; i -= 1) {
    for (const [from, to, term] of places) if (sets[i - 1].has(term)) marks.fill(i, from, to);
  }
  return marks;
}
