// Words of a query or narrative found again in a document: by stem, and by characters where no spaces divide them.

import { COMMON } from "./common.js";

const HAN = /\p{Script=Han}/u;
const HAN_RUN = /\p{Script=Han}{2,}/gu;
const JOINER = /\u200C/g; // Persian writes endings behind one
const divided = new Map();
const common = new Map();

/** The segments of a text as the language divides it: words, and what stands between. */
export function segments(text, language) {
  if (!divided.has(language)) divided.set(language, new Intl.Segmenter(language, { granularity: "word" }));
  return divided.get(language).segment(text);
}

/** Words that say nothing of a topic, in one spelling. */
function commonOf(language) {
  if (!common.has(language)) {
    const listed = (COMMON[language] ?? "").trim().split(/\s+/);
    common.set(language, new Set(listed.flatMap((word) => forms(word, language))));
  }
  return common.get(language);
}

const ENDINGS = {
  en: /(?:'s|ings?|edly|ed|ers?|ies|es|s|e|y)$/,
  ru: /(?:иями|ями|ами|[иы]ми|[ое]го|[ое]му|и?[ея]м|и?ях|ией|[еи]шь|[ая]я|[ую]ю|[иоые]е|[иоые]й|[ао]м|ах|[ое]в|ью|и[яию]|[еиюуяа]т|ть|л[аои]|[аяоеиыуюьй])$/,
  fa: /(?:\u200C?(?:هایشان|هایی|های|ها|ترین|تر|ان|ات|ای|ام|اش|شان)|ی)$/,
};

/** One spelling for all ways to write a word: Arabic and Persian letters, marks, ё, width, case. */
export function spelt(word) {
  return word
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\u064B-\u065F\u0670\u0640]/g, "")
    .replace(/ي|ى/g, "ی")
    .replace(/ك/g, "ک")
    .replace(/[أإآ]/g, "ا")
    .replace(/[ةۀ]/g, "ه")
    .replace(/ؤ/g, "و")
    .replace(/ё/g, "е");
}

/** What inflected forms of a word have in common, roughly: good enough to draw the eye, no more. */
export function stem(word, language) {
  let form = spelt(word);
  if (language === "fa") form = form.replace(/^ن?می\u200C/, "");
  const ending = ENDINGS[language];
  for (let times = language === "fa" ? 2 : 1; ending && times; times -= 1) {
    // کشتی‌های: of the ships
    const cut = form.replace(ending, "");
    if (cut.length >= 3) form = cut;
  }
  return form.replace(JOINER, "");
}

/** A word as it is spelt and its stem: a base form may end like an inflected one (паром, a ferry). */
const forms = (word, language) => [spelt(word).replace(JOINER, ""), stem(word, language)];

/** What to look for: words with their stems, and runs of Chinese characters (`pairs`: also every two neighbours). */
export function termsOf(text, language, pairs = false) {
  const [stems, runs] = [new Set(), new Set()];
  const dull = commonOf(language);
  for (const { segment, isWordLike } of segments(text, language)) {
    if (!isWordLike || /^\p{N}+$/u.test(segment)) continue;
    if (HAN.test(segment)) {
      if (segment.length > 1 && !dull.has(segment)) runs.add(segment);
    } else if (segment.length > 1 && !forms(segment, language).some((form) => dull.has(form))) {
      forms(segment, language).forEach((form) => stems.add(form));
    }
  }
  if (pairs) {
    for (const [run] of text.matchAll(HAN_RUN)) {
      for (let at = 0; at + 2 <= run.length; at += 1) {
        const two = run.slice(at, at + 2);
        if (!dull.has(two) && ![...two].some((one) => dull.has(one))) runs.add(two);
      }
    }
  }
  return { stems, runs };
}

/** The terms of `found` that are not in `known`. */
export function newTerms(found, known) {
  const minus = (a, b) => new Set([...a].filter((one) => !b.has(one)));
  return { stems: minus(found.stems, known.stems), runs: minus(found.runs, known.runs) };
}

/**
 * Pieces {text, kind} of a text, kind being the name in `wanted` ({name: terms}) of what a piece shows, or "".
 * Names that come first win where two would mark the same characters.
 */
export function marked(text, language, wanted) {
  const names = Object.keys(wanted);
  const paint = new Uint8Array(text.length);
  const dab = (from, to, with_) => {
    for (let at = from; at < to; at += 1) if (!paint[at]) paint[at] = with_;
  };
  names.forEach((name, at) => {
    const { runs } = wanted[name];
    if (!runs.size) return;
    const longest = [...runs].sort((a, b) => b.length - a.length);
    // lookahead, so that overlapping pairs are all found
    for (const found of text.matchAll(new RegExp(`(?=(${longest.join("|")}))`, "gu")))
      dab(found.index, found.index + found[1].length, at + 1);
  });
  if (names.some((name) => wanted[name].stems.size)) {
    for (const { segment, index, isWordLike } of segments(text, language)) {
      if (!isWordLike || HAN.test(segment)) continue;
      const found = forms(segment, language);
      const at = names.findIndex((name) => found.some((form) => wanted[name].stems.has(form)));
      if (at >= 0) dab(index, index + segment.length, at + 1);
    }
  }
  return pieces(text, paint, names);
}

function pieces(text, paint, names) {
  const found = [];
  let from = 0;
  for (let at = 1; at <= text.length; at += 1) {
    if (at < text.length && paint[at] === paint[from]) continue;
    found.push({ text: text.slice(from, at), kind: paint[from] ? names[paint[from] - 1] : "" });
    from = at;
  }
  return found;
}
