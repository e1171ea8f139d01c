// Find words of a query or narrative in a document: by stem, and Chinese and Korean by characters.

import { STOPWORDS } from "./stopwords.js";

const HAN = /[\p{Script=Han}\p{Script=Hangul}]/u;
const HAN_RUN = /\p{Script=Han}{2,}|\p{Script=Hangul}{2,}/gu;
const JOINER = /\u200C/g; // Persian writes endings behind one
const segmenters = new Map();
const stopwords = new Map();

/** Return the words of a text, and the characters between them. */
export function segments(text, language) {
  if (!segmenters.has(language)) segmenters.set(language, new Intl.Segmenter(language, { granularity: "word" }));
  return segmenters.get(language).segment(text);
}

/** Return the stopwords of a language, normalised. */
function stopwordsOf(language) {
  if (!stopwords.has(language)) {
    const words = (STOPWORDS[language] ?? "").trim().split(/\s+/);
    stopwords.set(language, new Set(words.flatMap((word) => forms(word, language))));
  }
  return stopwords.get(language);
}

const MARKS = /\p{Mn}/gu;
const FOLDED = new Set(["de", "el", "es", "fr", "it", "pt"]); // their stemmers read letters without accents
const SHORTEST = 3; // characters of a stem
const NORDIC = /(?:ernas|erna|arna|orna|ernes|erne|enes|ene|ens|ets|ers|en|et|er|ar|or|es|na|e|s|a)$/;
// As the light stemmers in Lucene's analysers have them, the most frequent alone.
const ENDINGS = {
  ar: /(?:ات|ون|ين|ان|ها|ية|ه|ي|ی)$/,
  bn: /(?:দের|েরা|ের|ে|কে)$/,
  da: NORDIC,
  de: /(?:ern|em|er|en|es|e|n|(?<=[bdfghklmnt])s)$/,
  el: /(?:εις|εων|ους|ες|ης|ας|ος|ου|ων|οι|α|ο|η|ι|ε|ω|υ)$/,
  es: /(?:es|os|as|s|a|o|e)$/,
  fi: /(?:ssa|ssä|sta|stä|lla|llä|lta|ltä|lle|iden|jen|ien|iin|in|en|an|än|ja|jä|ia|iä|t|a|ä|n|i)$/,
  fr: /(?:ees|ee|es|aux|e|s|x)$/,
  hi: /(?:ियाँ|ियां|ियों|ाओं|ओं|ों|ें|ाँ|ां|ी|े|ा|ि|ो|ू|ु)$/,
  hu: /(?:okat|eket|öket|ában|ében|ban|ben|ból|ből|nak|nek|val|vel|hoz|hez|höz|ról|ről|tól|től|ait|eit|jai|ai|ei|ok|ek|ök|ak|át|ét|ot|et|öt|ja|je|t|k|a|e)$/,
  id: /(?:nya|kan|lah|kah|i)$/,
  it: /(?<=^.{5,})[aeiou]$/,
  ko: /(?:에서|에게|으로|부터|까지|에는|들은|들을|들의|은|는|이|가|을|를|의|에|도|로|와|과|들)$/,
  nl: /(?:en|'s|e|s)$/,
  no: NORDIC,
  pl: /(?:ami|ach|owi|ego|emu|ów|om|ie|ia|iu|ią|ę|ą|y|i|a|o|u|e)$/,
  pt: /(?:es|os|as|s|a|o|e)$/,
  sv: NORDIC,
  te: /(?:లను|లు|ను|కు)$/,
  tr: /(?:larını|lerini|larının|lerinin|ların|lerin|ları|leri|larda|lerde|lar|ler|ında|inde|unda|ünde|ın|in|un|ün|da|de|ta|te|ı|i|u|ü)$/,
  uk: /(?:ями|ами|ові|еві|ого|ому|ах|ях|ів|їв|ою|ею|ам|ям|и|і|а|о|у|ю|я|е|ь|й|ї)$/,
  en: /(?:'s|ings?|edly|ed|ers?|ies|es|s|e|y)$/,
  ru: /(?:иями|ями|ами|[иы]ми|[ое]го|[ое]му|и?[ея]м|и?ях|ией|[еи]шь|[ая]я|[ую]ю|[иоые]е|[иоые]й|[ао]м|ах|[ое]в|ью|и[яию]|[еиюуяа]т|ть|л[аои]|[аяоеиыуюьй])$/,
  fa: /(?:\u200C?(?:هایشان|هایی|های|ها|ترین|تر|ان|ات|ای|ام|اش|شان)|ی)$/,
};

const PREFIXES = {
  ar: /^(?:وال|بال|كال|فال|لل|ال)(?=..)/,
  fa: /^ن?می\u200C/,
  fr: /^(?:l|d|qu|j|n|s|c|m|t)['’]/,
  it: /^(?:l|d|un|dell|all|dall|nell|sull|quest|quell)['’]/,
};

/** Return a word with one spelling of Arabic and Persian letters, marks, ё, width and case. */
function normalised(word, language) {
  const lower = word.normalize("NFKC").toLocaleLowerCase(language);
  return (FOLDED.has(language) ? lower.normalize("NFD").replace(MARKS, "").replace(/ß/g, "ss") : lower)
    .replace(/[\u064B-\u065F\u0670\u0640]/g, "")
    .replace(/ي|ى/g, "ی")
    .replace(/ك/g, "ک")
    .replace(/[أإآ]/g, "ا")
    .replace(/[ةۀ]/g, "ه")
    .replace(/ؤ/g, "و")
    .replace(/ё/g, "е")
    .replace(/ó/g, language === "pl" ? "o" : "ó"); // samochód, samochody
}

/** Return a rough stem of a word, good enough to mark words for a reader. */
function stem(word, language) {
  let form = normalised(word, language).replace(PREFIXES[language] ?? "", "");
  const ending = ENDINGS[language];
  for (let times = language === "fa" ? 2 : 1; ending && times; times -= 1) {
    // کشتی‌های: of the ships
    const cut = form.replace(ending, "");
    if (cut.length >= (HAN.test(form) ? 2 : SHORTEST)) form = cut;
  }
  return form.replace(JOINER, "");
}

/** Return a word normalised, and its stem: a base form may end like an inflected one (паром, a ferry). */
const forms = (word, language) => [normalised(word, language).replace(JOINER, ""), stem(word, language)];

/** Return the terms of a text: stems, and runs of Chinese characters (`pairs`: also every two neighbours). */
export function termsOf(text, language, pairs = false) {
  const [stems, runs] = [new Set(), new Set()];
  const ignored = stopwordsOf(language);
  for (const { segment, isWordLike } of segments(text, language)) {
    if (!isWordLike || /^\p{N}+$/u.test(segment)) continue;
    if (HAN.test(segment)) {
      if (segment.length > 1 && !ignored.has(segment)) runs.add(stem(segment, language));
    } else if ((segment.length > 1 || language === "vi") && !forms(segment, language).some((form) => ignored.has(form))) {
      forms(segment, language).forEach((form) => stems.add(form));
    }
  }
  if (pairs) {
    for (const [run] of text.matchAll(HAN_RUN)) {
      for (let i = 0; i + 2 <= run.length; i += 1) {
        const pair = run.slice(i, i + 2);
        if (!ignored.has(pair) && ![...pair].some((character) => ignored.has(character))) runs.add(pair);
      }
    }
  }
  return { stems, runs };
}

/** Return the terms of `after` that are not in `before`. */
export function newTerms(after, before) {
  const minus = (a, b) => new Set([...a].filter((term) => !b.has(term)));
  return { stems: minus(after.stems, before.stems), runs: minus(after.runs, before.runs) };
}

/**
 * Return pieces {text, kind} of a text; kind is the name in `termsByName` of the terms that a piece matches, or "".
 * Where two names match the same characters, the first one counts.
 */
export function marked(text, language, termsByName) {
  const names = Object.keys(termsByName);
  const marks = new Uint8Array(text.length); // of each character the number of its name from 1, or 0
  const mark = (from, to, number) => {
    for (let i = from; i < to; i += 1) if (!marks[i]) marks[i] = number;
  };
  names.forEach((name, i) => {
    const { runs } = termsByName[name];
    if (!runs.size) return;
    const longest = [...runs].sort((a, b) => b.length - a.length);
    // lookahead, so that overlapping pairs are all found
    for (const match of text.matchAll(new RegExp(`(?=(${longest.join("|")}))`, "gu")))
      mark(match.index, match.index + match[1].length, i + 1);
  });
  if (names.some((name) => termsByName[name].stems.size)) {
    for (const { segment, index, isWordLike } of segments(text, language)) {
      if (!isWordLike || HAN.test(segment)) continue;
      const candidates = forms(segment, language);
      const i = names.findIndex((name) => candidates.some((form) => termsByName[name].stems.has(form)));
      if (i >= 0) mark(index, index + segment.length, i + 1);
    }
  }
  return pieces(text, marks, names);
}

/** Return whether a word is not marked though it is in a narrative: most narratives have it, or it is one letter. */
export function isCommon(word, language) {
  const ignored = stopwordsOf(language);
  if (HAN.test(word)) return ignored.has(word) || [...word].every((character) => ignored.has(character));
  return (word.length < 2 && language !== "vi") || forms(word, language).some((form) => ignored.has(form));
}

/** Return pieces {text, kind} of a text whose characters have the numbers `marks`, of `names` from 1. */
export function pieces(text, marks, names) {
  const result = [];
  let from = 0;
  for (let i = 1; i <= text.length; i += 1) {
    if (i < text.length && marks[i] === marks[from]) continue;
    result.push({ text: text.slice(from, i), kind: marks[from] ? names[marks[from] - 1] : "" });
    from = i;
  }
  return result;
}
