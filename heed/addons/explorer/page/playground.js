// The playground: a topic's query or instruction is changed, and systems answer both forms of it, side by side.

import { debounced, make, setLanguage, toast } from "../../../report/page/shared/dom.js";
import { kept, kindMarks, markField, outside } from "../../../report/page/shared/spans.js";
import { segments } from "../../../report/page/shared/words.js";
import { documentLink, shiftMark, SIGNS } from "./ranking.js";
import { moved } from "./ranks.js";
import { reasonFold } from "./reasons.js";
import { narrativeTabs } from "./topic.js";

const FIRST = 10; // documents of a list, until more are asked for
const WORDS = 8; // of a kind, that are shown of a document
const PAUSE = 120; // ms without a key before systems are asked
const KEYS = ["A", "X", "N", "R"]; // with Alt: selected words are asked, excluded, neutral, or as they are read
const TITLES = { asked: "asked for, and in this document", excluded: "excluded, and in this document" };

/**
 * Return the children of a topic's playground: `written` is what the address has, condition and changed texts, and
 * `remember(choice)` writes them there; `link(docid)` is a document's address.
 */
export function playgroundParts(source, { folder, topic, written, link, remember }) {
  const conditions = folder.conditions.filter((name) => name === "query" || topic.narratives[name]);
  const state = { condition: conditions.includes(written.condition) ? written.condition : conditions.at(-1), asking: null, tab: null };
  const changed = debounced(PAUSE, ask);
  const field = (label, rows) => {
    const area = make("textarea", { rows, spellcheck: "false", maxlength: 20000, oninput: changed });
    const under = setLanguage(make("div", { class: "under", "aria-hidden": "true" }), topic.language);
    const marked = make("span", { class: "marked" }, under, setLanguage(area, topic.language));
    return { area, element: make("label", {}, make("span", { class: "label" }, label), marked) };
  };
  const query = field("Query", 1);
  const instruction = field("Instruction", 6);
  instruction.area.addEventListener("input", keepReading);
  instruction.area.addEventListener("scroll", keepReading);
  instruction.area.addEventListener("keydown", (event) => {
    const chosen = event.altKey && !event.ctrlKey ? KEYS.indexOf(event.code.replace("Key", "")) : -1;
    if (chosen < 0) return;
    event.preventDefault();
    buttons[chosen].click();
  });
  const correction = (mark, i) => make("button", { title: `Alt+${KEYS[i]}`, onclick: () => correct(mark.dataset?.kind) }, mark);
  const buttons = [...kindMarks(), "as read"].map(correction);
  const corrections = make("div", { class: "tabs soft", role: "group" }, "selected words are", ...buttons);
  const choices = conditions.map((name) => make("option", { value: name, selected: name === state.condition }, name));
  const choose = (event) => {
    state.condition = event.target.value;
    fill({ query: query.area.value });
  };
  const condition = make("select", { onchange: choose }, ...choices);
  const again = make("button", { type: "button", onclick: () => fill({}) }, "As it was");
  const copy = make("button", { type: "button", onclick: copyLine }, "Copy as a topics line");
  const status = make("span", { class: "soft", role: "status" });
  const reading = make("div", { class: "reads" });
  const places = new Map(folder.playground.map((name) => [name, make("section", { "aria-label": name })]));
  const stored = () => topic.narratives[state.condition] ?? { text: "", spans: [], corrected: [] };
  const asItWas = () => ({ query: topic.query, instruction: stored().text, reading: stored().corrected });

  /** Write texts into the fields, the topic's own where there is none, and ask. */
  function fill(texts) {
    const { query: own, instruction: ofCondition } = asItWas();
    query.area.value = texts.query ?? own;
    instruction.area.value = texts.instruction ?? ofCondition;
    instruction.element.hidden = corrections.hidden = state.condition === "query";
    state.now = stored();
    keepReading();
    if (texts.reading) state.now.corrected = JSON.parse(texts.reading);
    ask();
  }

  /** Keep what was read, and corrected, of the words that an edit has left. */
  function keepReading() {
    state.now = kept(state.now, instruction.area.value);
    markField(instruction.area, state.now);
  }

  /** Take the selected words for `kind`; without one as the reader reads them. */
  function correct(kind) {
    const place = selectedWords(instruction.area, topic.language.tag);
    if (!place) return toast("Select words of the instruction first.");
    const others = outside(state.now.corrected, ...place);
    state.now.corrected = kind ? [...others, [...place, kind]].sort((a, b) => a[0] - b[0]) : others;
    instruction.area.focus();
    ask();
  }

  /** Return the texts that differ from the topic's, null for those that do not. */
  function changes() {
    const before = { ...asItWas(), reading: JSON.stringify(kept(stored(), instruction.area.value).corrected) };
    const written = { query: query.area.value, instruction: instruction.area.value, reading: JSON.stringify(state.now.corrected) };
    return Object.fromEntries(Object.entries(written).map(([name, text]) => [name, text === before[name] ? null : text]));
  }

  /** Copy the topic with these texts as a line of a file of topics. */
  async function copyLine() {
    const instructions = Object.fromEntries(Object.entries(topic.narratives).map(([name, { text }]) => [name, text]));
    if (state.condition !== "query") instructions[state.condition] = instruction.area.value;
    const type = topic.type || undefined;
    changed.flush();
    await state.reading; // of the text as it is now
    const read = Object.entries({ ...topic.narratives, [state.condition]: state.now }).filter(([, { corrected }]) => corrected.length);
    const readings = read.length ? Object.fromEntries(read.map(([name, { spans }]) => [name, spans])) : undefined;
    const line = JSON.stringify({ qid: topic.qid, lang: topic.language.tag, query: query.area.value, instructions, readings, type });
    try {
      await navigator.clipboard.writeText(line);
      toast("Copied: the topic as a line of JSON, for a file that --topics reads.");
    } catch (error) {
      toast(`The browser does not let this page copy: ${error.message}`, true);
    }
  }

  /** Ask every system, one after the other; what was asked before is not waited for any more. */
  async function ask() {
    state.asking?.abort();
    const asking = new AbortController();
    state.asking = asking;
    remember({ condition: state.condition, ...changes() });
    const question = {
      folder: folder.folder,
      topic: topic.qid,
      condition: state.condition,
      query: query.area.value,
      instruction: instruction.area.value,
      reading: state.now.corrected,
    };
    state.reading = read(question, asking.signal);
    const started = performance.now();
    status.textContent = "asking …";
    for (const [system, place] of places) {
      try {
        const answer = await source.ask({ ...question, system }, asking.signal);
        if (asking.signal.aborted) return;
        const why = (name, docid) => source.why({ ...asked(name, question), system, docid });
        place.replaceChildren(...systemParts(answer, { condition: question.condition, link, why }));
      } catch (error) {
        if (asking.signal.aborted) return;
        place.replaceChildren(make("h2", {}, system), make("p", { class: "empty" }, error.message));
      }
    }
    status.textContent = `answered in ${Math.round(performance.now() - started)} ms`;
  }

  /** Return the question of a side: of the topic as it was, or as it is now. */
  function asked(name, question) {
    return name === "after" ? question : { ...question, ...asItWas() };
  }

  /** Show how the instruction is read. */
  async function read(question, signal) {
    try {
      state.now = await source.read(question, signal);
      keepReading();
      const [before, after] = [topic.narratives[state.condition], question.instruction && state.now];
      const known = Object.fromEntries(Object.entries({ before, after }).filter(([, narrative]) => narrative));
      const isSame = before?.text === after?.text;
      const shown = isSame && after ? { after } : known;
      const tab = { name: state.tab, show: (name) => (state.tab = name) };
      reading.replaceChildren(...narrativeTabs({ ...topic, narratives: shown }, isSame ? null : ["before", "after"], tab));
    } catch (error) {
      if (!signal.aborted) reading.replaceChildren(make("p", { class: "empty" }, error.message));
    }
  }

  fill(written);
  return [
    make("h1", {}, "Playground: what if topic ", make("bdi", {}, topic.qid), " were asked in another way?"),
    make(
      "div",
      { class: "asked" },
      make("div", {}, query.element, instruction.element, corrections),
      make(
        "div",
        {},
        make("div", { class: "tabs" }, make("label", {}, make("span", { class: "label" }, "as "), condition), again, copy, status),
        reading,
      ),
    ),
    make("div", { class: "systems" }, ...places.values()),
  ];
}

/** Return first and last character of the words that are selected in a field, or that the caret is in; null without any. */
function selectedWords({ value, selectionStart, selectionEnd }, language) {
  const end = Math.max(selectionEnd, selectionStart + 1);
  const words = [...segments(value, language)].filter(
    ({ index, segment, isWordLike }) => isWordLike && index < end && index + segment.length > selectionStart,
  );
  if (!words.length) return null;
  return [words[0].index, words.at(-1).index + words.at(-1).segment.length].map((unit) => [...value.slice(0, unit)].length);
}

/** Return a system's answers to the topic as it was and as it is now; `why(name, docid)` asks for a document's reason. */
function systemParts(answer, { condition, link, why }) {
  const { system, before, after } = answer;
  const judged = { ...answer, grades: { [condition]: answer.grades } };
  const sides = [rankOf(before), rankOf(after)];
  const columns = ["before", "after"].map((name) => list(judged, name, sides, { link, why }));
  const rows = make("div", { class: "columns", "data-count": 2 }, ...columns);
  rows.style.setProperty("--rows", Math.max(...sides.map(({ size }) => size))); // that stand side by side
  return [
    make("h2", {}, make("bdi", {}, system), " ", make("span", { class: "soft" }, summary(sides))),
    rows,
  ];
}

const rankOf = ({ ranking }) => new Map(ranking.documents.map((place, i) => [place, ranking.ranks[i]]));

function summary([before, after]) {
  const first = [...after].filter(([, rank]) => rank <= FIRST);
  const count = first.filter(([place]) => !(before.get(place) <= FIRST)).length;
  const same = after.size === before.size && [...after].every(([place, rank]) => before.get(place) === rank);
  if (same) return "the same ranking";
  return count ? `${count} of the first ${first.length} documents are new there` : `the first ${first.length} are the same documents`;
}

function list(answer, name, [before], { link, why }) {
  const { ranking, words } = answer[name];
  const rows = ranking.documents.map((place, i) => ({ place, rank: ranking.ranks[i] })).filter(({ rank }, i) => rank === i + 1);
  const items = rows.map(({ place, rank }) => {
    const docid = answer.docids[place];
    const facts = [make("span", { class: "rank" }, String(rank)), name === "after" ? shift(before.get(place), rank) : ""];
    const about = name === "after" ? chips(words[place], answer.before.words[place]) : [];
    const reason = answer.explains ? [reasonFold(docid, () => why(name, docid))] : [];
    return make("li", {}, documentLink(answer, place, Object.keys(answer.grades), link(docid), facts), ...reason, ...about);
  });
  const ordered = make("ol", { class: "ranking" }, ...items.slice(0, FIRST));
  const more = make("button", { type: "button" }, `${items.length - FIRST} more`);
  more.addEventListener("click", () => {
    ordered.append(...items.slice(FIRST));
    more.remove();
    items[FIRST].querySelector("a").focus();
  });
  const heading = make("h3", {}, name, " ", make("span", { class: "soft" }, `${ranking.length} documents`));
  const none = items.length ? [] : [make("p", { class: "soft" }, "Nothing was found.")];
  return make("section", { "aria-label": `${answer.system}, ${name}` }, heading, ordered, ...none, ...(items.length > FIRST ? [more] : []));
}

/** Return the mark of a move, which no grade calls right or wrong: nobody has judged the changed instruction. */
function shift(from, to) {
  if (!from) return shiftMark("rose", SIGNS.rose, "further down, or not in the list before");
  const { verdict, by } = moved(from, to);
  return shiftMark(verdict, `${SIGNS[verdict]}${by || ""}`, `${from} → ${to}`);
}

/** Return the words of the instruction that a document holds, as polarity reads them; new ones first, and marked. */
function chips(words, before) {
  const marks = Object.entries(TITLES).flatMap(([kind, title]) => {
    const isNew = (word) => !before[kind].includes(word);
    const sorted = [...words[kind].filter(isNew), ...words[kind].filter((word) => !isNew(word))];
    const shown = sorted.slice(0, WORDS).flatMap((word) => [chip(kind, word, title, isNew(word)), " "]);
    const rest = sorted.length - WORDS;
    return rest > 0 ? [...shown, make("span", { class: "soft" }, `+${rest} `)] : shown;
  });
  return marks.length ? [make("p", { class: "chips" }, ...marks)] : [];
}

function chip(kind, word, title, isNew) {
  const attributes = { "data-kind": kind, "data-new": isNew, title: isNew ? `${title}; new` : title };
  return make("mark", attributes, make("bdi", {}, word));
}
