// Where a document stands in the lists of a topic, and what a change of the instruction did to it.

/** Return the ranking of a system under a condition, with `rankOf` from a document's place to its rank. */
export function rankingOf(topic, system, condition) {
  const ranking = topic.rankings[system]?.[condition];
  if (!ranking) return null;
  return { ...ranking, rankOf: new Map(ranking.documents.map((place, i) => [place, ranking.ranks[i]])) };
}

/** Return a document's grade under a condition; null without a judgement, as a negative grade is none. */
export const gradeOf = (topic, condition, place) => [topic.grades[condition]?.[place]].find((grade) => grade >= 0) ?? null;

const isJudged = (topic, place) => Object.values(topic.grades).some((grades) => typeof grades[place] === "number");

/** Return {rank, text}: of a judged document outside of the list the rank is the list's length + 1, as in p-MRR. */
export function rankIn(topic, ranking, place) {
  const rank = ranking.rankOf.get(place);
  if (rank) return { rank, text: String(rank) };
  if (isJudged(topic, place)) return { rank: ranking.length + 1, text: "not in list" };
  const shown = ranking.ranks.filter((known, i) => known === i + 1).length;
  return { rank: null, text: `below ${shown}` };
}

/** Return {verdict, by} of a move between ranks: by how many places a document rose, or fell. */
export function moved(from, to) {
  if (from === null || to === null) return { verdict: from === null ? "rose" : "fell", by: null };
  if (from === to) return { verdict: "stayed", by: 0 };
  return from > to ? { verdict: "rose", by: from - to } : { verdict: "fell", by: to - from };
}

/** Return whether a document is relevant under a condition; null where that is open, as `not_judged` of heed.measures. */
function isRelevant(topic, condition, place) {
  const grade = gradeOf(topic, condition, place);
  const isOpen = grade === null && topic.grades[condition].some((other) => other !== null && other <= 0);
  return isOpen ? null : grade > 0;
}

/** Return what the grades of two conditions ask of a document: "fall", "rise", or "" where they ask for neither. */
export function dueOf(topic, [base, next], place) {
  if (!topic.grades[base] || !topic.grades[next]) return "";
  const [before, after] = [base, next].map((condition) => isRelevant(topic, condition, place));
  if (before === null || after === null || before === after) return "";
  return before ? "fall" : "rise";
}

/** Return whether a move is "right" or "wrong" for a document that is `due` to rise or fall; "" where it is neither. */
export function outcomeOf(verdict, due) {
  const isMove = verdict === "rose" || verdict === "fell";
  if (!due || (!isMove && (verdict !== "stayed" || due === "rise"))) return ""; // the first cannot rise
  return (verdict === "fell") === (due === "fall") ? "right" : "wrong";
}

const ORDER = { rose: 0, stayed: 0, fell: 1, "in neither list": 2 };

/**
 * Return the documents that are relevant under the first condition and not under the second, {place, from, to, verdict},
 * those that rose or stayed first.
 */
export function shouldFall(topic, system, [base, next]) {
  const [before, after] = [rankingOf(topic, system, base), rankingOf(topic, system, next)];
  if (!before || !after) return [];
  const places = topic.docids.map((_, place) => place).filter((place) => dueOf(topic, [base, next], place) === "fall");
  const moves = places.map((place) => {
    const [from, to] = [rankIn(topic, before, place), rankIn(topic, after, place)];
    const isUnseen = !before.rankOf.has(place) && !after.rankOf.has(place);
    return { place, from, to, ...(isUnseen ? { verdict: "in neither list", by: null } : moved(from.rank, to.rank)) };
  });
  return moves.sort((a, b) => ORDER[a.verdict] - ORDER[b.verdict] || a.from.rank - b.from.rank);
}
