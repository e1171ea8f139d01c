// The playground: a topic's query or instruction is changed, and systems answer both forms of it, side by side.

import { debounced, make, setLanguage } from "../../page/shared/dom.js";
import { moved } from "./ranks.js";
import { reasonFold } from "./reasons.js";
import { narrativeTabs } from "./topic.js";

const SIGNS = { rose: "▲", fell: "▼", stayed: "=" };
const FIRST = 10; // documents of a list, until more are asked for
const WORDS = 8; // of a kind, that are shown of a document
const PAUSE = 120; // ms without a key before systems are asked
const KINDS = { asked: "asked for, and in this document", excluded: "excluded, and in this document" };

/** Return the children of a topic's playground; `link(docid)` is a document's address. */
export function playgroundParts(source, folder, topic, wanted, link) {
  const conditions = folder.conditions.filter((name) => name === "query" || topic.narratives[name]);
  const state = { condition: conditions.includes(wanted) ? wanted : conditions.at(-1), asking: null, answers: new Map() };
  const changed = debounced(PAUSE, ask);
  const field = (label, rows) => {
    const area = make("textarea", { rows, spellcheck: "false", maxlength: 20000, oninput: changed });
    return { area: setLanguage(area, topic.language), element: make("label", {}, make("span", { class: "label" }, label), area) };
  };
  const query = field("Query", 1);
  const instruction = field("Instruction", 6);
  const choices = conditions.map((name) => make("option", { value: name, selected: name === state.condition }, name));
  const choose = (event) => {
    state.condition = event.target.value;
    reset();
  };
  const condition = make("select", { onchange: choose }, ...choices);
  const again = make("button", { type: "button", onclick: reset }, "As it was");
  const status = make("span", { class: "soft", role: "status" });
  const reading = make("div", { class: "reads" });
  const places = new Map(folder.playground.map((name) => [name, make("section", { "aria-label": name })]));

  function reset() {
    query.area.value = topic.query;
    instruction.area.value = topic.narratives[state.condition]?.text ?? "";
    instruction.element.hidden = state.condition === "query";
    ask();
  }

  /** Ask every system, one after the other; what was asked before is not waited for any more. */
  async function ask() {
    state.asking?.abort();
    const asking = new AbortController();
    state.asking = asking;
    const question = {
      folder: folder.folder,
      topic: topic.qid,
      condition: state.condition,
      query: query.area.value,
      instruction: instruction.area.value,
    };
    const started = performance.now();
    status.textContent = "asking …";
    for (const [system, place] of places) {
      try {
        const answer = await source.ask({ ...question, system }, asking.signal);
        if (asking.signal.aborted) return;
        if (system === folder.playground[0]) drawReading(answer);
        place.replaceChildren(...systemParts(answer, { link, why: (name, docid) => source.why({ ...asked(name, question), system, docid }) }));
      } catch (error) {
        if (asking.signal.aborted) return;
        place.replaceChildren(make("h2", {}, system), make("p", { class: "empty" }, error.message));
      }
    }
    status.textContent = `answered in ${Math.round(performance.now() - started)} ms`;
  }

  /** Return the question of a side: of the topic as it was, or as it is now. */
  function asked(name, question) {
    const instruction = topic.narratives[question.condition]?.text ?? "";
    return name === "after" ? question : { ...question, query: topic.query, instruction };
  }

  function drawReading({ before, after }) {
    const narratives = before.narrative || after.narrative ? { before: before.narrative, after: after.narrative } : {};
    const known = Object.fromEntries(Object.entries(narratives).filter(([, narrative]) => narrative));
    const isSame = before.narrative?.text === after.narrative?.text;
    const shown = isSame && known.after ? { after: known.after } : known;
    reading.replaceChildren(...narrativeTabs({ ...topic, narratives: shown }, isSame ? null : ["before", "after"]));
  }

  reset();
  return [
    make("p", { class: "label" }, "Playground ", make("span", { class: "id" }, make("bdi", {}, `topic ${topic.qid}`))),
    make("h1", {}, "What if it were asked in another way?"),
    make(
      "div",
      { class: "asked" },
      make("div", {}, query.element, instruction.element),
      make(
        "div",
        {},
        make("div", { class: "tabs" }, make("label", {}, make("span", { class: "label" }, "as "), condition), again, status),
        reading,
      ),
    ),
    make("div", { class: "systems" }, ...places.values()),
  ];
}

/** Return a system's answers to the topic as it was and as it is now; `why(name, docid)` asks for a document's reason. */
function systemParts(answer, { link, why }) {
  const { system, before, after } = answer;
  const sides = [rankOf(before), rankOf(after)];
  const columns = ["before", "after"].map((name) => list(answer, name, sides, { link, why }));
  return [
    make("h2", {}, make("bdi", {}, system), " ", make("span", { class: "soft" }, summary(sides))),
    make("div", { class: "columns", "data-count": 2 }, ...columns),
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

function list(answer, name, sides, { link, why }) {
  const { ranking, words } = answer[name];
  const rows = ranking.documents.map((place, i) => ({ place, rank: ranking.ranks[i] })).filter(({ rank }, i) => rank === i + 1);
  const items = rows.map(({ place, rank }) => {
    const entry = item(answer, name, place, rank, sides, words[place], link);
    const docid = answer.docids[place];
    if (answer.explains) entry.append(reasonFold(docid, () => why(name, docid)));
    return entry;
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

function item(answer, name, place, rank, [before, after], words, link) {
  const docid = answer.docids[place];
  const title = answer.titles[place];
  const grade = answer.grades[place];
  const facts = [make("span", { class: "rank" }, String(rank)), name === "after" ? shift(before.get(place), after.get(place)) : ""];
  const shade = grade === null ? null : Math.max(0, Math.min(3, grade));
  const square = make("span", { class: "grade", "data-shade": shade, title: grade === null ? "not judged" : `grade ${grade}` });
  square.append(grade === null ? "·" : String(grade));
  return make(
    "li",
    {},
    make(
      "a",
      { href: link(docid), "data-docid": docid },
      ...facts.filter(Boolean),
      make("span", { class: "grades" }, square),
      make("span", { class: "name" }, make("bdi", {}, title || docid)),
      title ? make("span", { class: "id" }, make("bdi", {}, docid)) : "",
    ),
    ...(name === "after" ? chips(words, answer.before.words[place]) : []),
  );
}

function shift(from, to) {
  if (!from) return make("span", { class: "shift", "data-verdict": "rose", title: "further down, or not in the list before" }, "▲");
  const { verdict, by } = moved(from, to);
  return make("span", { class: "shift", "data-verdict": verdict, title: `${from} → ${to}` }, `${SIGNS[verdict]}${by || ""}`);
}

/** Return the words of the instruction that a document holds, as polarity reads them; new ones first, and marked. */
function chips(words, before) {
  const marks = Object.entries(KINDS).flatMap(([kind, title]) => {
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
