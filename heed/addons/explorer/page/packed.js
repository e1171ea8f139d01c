// The source of topics and documents that the file itself carries: heed/addons/explorer/embedded.py has the form.

import { unpacked } from "../../../report/page/shared/packed.js";
import { markdownTable } from "./grid.js";

/** Return a source with folders(), folder(name), topic(folder, id) and document(folder, docid); null where none is. */
export function packedSource(element) {
  if (!element) return null;
  const { folders, notes } = JSON.parse(element.textContent);
  const opened = new Map(folders.map((folder) => [folder.folder, once(() => open(folder, notes))]));
  const of = (name) => opened.get(name)?.() ?? Promise.reject(new Error(`no results folder ${name}`));
  return {
    folders: () => folders.map((folder) => folder.folder),
    folder: async (name) => (await of(name)).index,
    topic: async (name, id) => topicView(await of(name), id),
    document: async (name, docid) => documentView(await of(name), docid),
  };
}

async function open(folder, notes) {
  const index = await unpacked(folder.index);
  index.notes = [...index.notes, ...notes];
  const blocks = (texts) => texts.map((text) => once(() => unpacked(text)));
  return {
    index,
    topics: blocks(folder.topics),
    documents: blocks(folder.documents),
    topicNumber: new Map(index.topics.map((topic, i) => [topic.qid, i])),
    documentNumber: new Map(index.docids.map((docid, i) => [docid, i])),
  };
}

const once = (make) => {
  let made = null;
  return () => (made ??= make());
};

/** Return item `number` of blocks whose first items are numbered `firsts`. */
async function item(blocks, firsts, number) {
  let block = firsts.length - 1;
  while (firsts[block] > number) block -= 1;
  return (await blocks[block]())[number - firsts[block]];
}

async function topicView({ index, topics, topicNumber }, id) {
  const number = topicNumber.get(id);
  if (number === undefined) throw new Error(`This folder has no topic ${id}.`);
  if (number >= index.topicCount) throw new Error(`The rankings of topic ${id} are not in this file.`);
  const [narratives, absent, numbers, grades, rows] = await item(topics, index.topicBlocks, number);
  const rankings = {};
  rows.forEach((row, i) => {
    const of = row.map((list, k) => [index.conditions[k], list]).filter(([, list]) => list);
    rankings[index.systems[i]] = Object.fromEntries(of.map(([condition, list]) => [condition, ranking(list)]));
  });
  const values = {};
  index.keys.forEach(([system, condition, measure], i) => {
    const value = index.values[i][number];
    if (value !== null) ((values[system] ??= {})[condition] ??= {})[measure] = value;
  });
  return {
    ...index.topics[number],
    narratives,
    absent,
    docids: numbers.map((at) => index.docids[at]),
    titles: numbers.map((at) => index.titles[at] ?? ""),
    grades,
    rankings,
    values,
  };
}

function ranking([length, documents, further, scores]) {
  const ranks = [...scores.map((_, i) => i + 1), ...further];
  return { length, documents, ranks, scores };
}

async function documentView({ index, documents, documentNumber }, docid) {
  const number = documentNumber.get(docid);
  const found = number < index.documentCount ? await item(documents, index.documentBlocks, number) : null;
  if (found === 0) throw new Error(`Document ${docid} is judged, but not in the collection.`);
  if (!found) throw new Error(`The text of document ${docid} is not in this file.`);
  const [text, form, titled, isCut] = found; // form 1: in Markdown; a table: in another form
  const table = form === 1 ? markdownTable(text) : form || null;
  return { docid, title: titled === 0 ? "" : index.titles[number], text, table, isCut };
}
