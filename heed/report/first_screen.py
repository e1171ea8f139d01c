"""The first screen of a folder in the page: which system is best, is that sure, and what its script draws."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from heed.measures.baseline import AgainstBaseline, BaselineRow, disagreement, instruction, p_text
from heed.measures.pairwise import P_MRR, SELECTIVITY
from heed.measures.significance import ALPHA, is_compared_with_zero, least_p
from heed.measures.summary import ON_REQUEST, SystemEntry, format_value, is_merit
from heed.progress import number_of
from heed.report.answer import MINUS, Answer, named, signed
from heed.report.results import Column, ManifestSettings, ResultsFolder
from heed.report.topics_file import read_topics_file
from heed.types import CONDITIONS

TIED = "\u00a0"  # a space at which no line breaks
FOLLOWED = {  # what a measure of following shows to the right of 0
    SELECTIVITY: "ruled out falls further →",
    P_MRR: "ruled out falls →",
    "IRS": "relevant up, ruled out down",
    "WISE": "instruction followed →",
}
ORDER = ("original", "changed", "query", "reversed")  # of conditions to choose from
INSTRUCTIONS = {"query": "query alone", "changed": "changed instruction", "reversed": "reversed instruction"}
KINDS = {  # of systems, by a name in their settings
    "lsa": "character n-grams, SVD",
    "polarity": "reads the instruction; rescores the pool",
    "decompose": "what is asked and what is excluded, each by its vector",
    "rank_bm25": "BM25 by rank_bm25; rescores the pool",
}


class Screen(NamedTuple):
    """The first screen: ``counts`` and the ``headline`` as they are at first, and ``data`` for its script.

    ``compared`` are the two systems to compare at first: the baseline, and the best of the others.
    """

    counts: str
    headline: str
    compared: list[str]
    data: dict[str, Any]


def first_screen(
    results: ResultsFolder, answered: Answer, settings: ManifestSettings, compared: Mapping[str, AgainstBaseline]
) -> Screen:
    """Return the first screen of ``results``, which were ``compared`` with each baseline, the first one by default.

    Its ``data`` numbers systems and columns as :func:`heed.report.figures.figures` does.
    """
    columns, systems, pair = results.columns, results.names, answered.pair
    choices = sorted(filter(_is_chosen, columns), key=_order) or columns[:1]
    headlines = [
        [_headline(results, column, pair, baseline, against) for baseline, against in compared.items()]
        or [_headline(results, column, pair)]
        for column in choices
    ]
    data = {
        "baselines": [systems.index(baseline) for baseline in compared if len(systems) > 1],
        "chosen": "".join(each.sentences[0].rpartition(":")[0] for each in compared.values() if each.chosen),
        "choices": [_choice(column, choices[0], columns, answered) for column in choices],
        "headlines": headlines,
        "following": [[columns.index((pair, name)), FOLLOWED[name]] for name in answered.measures if name in FOLLOWED],
        "words": [_words(system, settings, results.systems) for system in systems],
    }
    ranked = dict.fromkeys([*list(compared)[:1], *_ranked(results, choices[0])])
    return Screen(_counts(results, choices[0]), headlines[0][0], list(ranked)[:2], data)


def _is_chosen(column: Column) -> bool:
    condition, measure = column
    return (condition in CONDITIONS or ">" in condition) and is_merit(measure) and measure not in ON_REQUEST


def _order(column: Column) -> tuple[bool, int, bool]:
    """Return the place of a column among those to choose from: first the nDCG of ``original``, last those of a pair."""
    condition, measure = column
    later = ORDER.index(condition) if condition in ORDER else len(ORDER)
    return ">" in condition, later, not measure.startswith("nDCG")


def _choice(column: Column, first: Column, columns: Sequence[Column], answered: Answer) -> dict[str, Any]:
    """Return a column to choose, with its label, and the columns whose values stand first in the rows with theirs."""
    (condition, measure), pair = column, answered.pair
    is_shown = condition == pair and measure in answered.measures and measure in FOLLOWED  # further to the right
    ranking = first[1] if is_shown else measure
    both = [(each, ranking) for each in pair.split(">")]
    shown = both if condition in (pair, *pair.split(">")) and all(each in columns for each in both) else [column]
    label = measure if condition in (first[0], pair) else f"{measure}, {_label(condition, pair)}"
    dots = [[columns.index(each), _label(each[0], pair)] for each in shown]
    return {"column": columns.index(column), "label": label, "dots": dots}


def _label(condition: str, pair: str) -> str:
    """Return the words for a condition beside a dot."""
    if condition == "original" and not pair.startswith("original>"):
        return "original instruction"
    return INSTRUCTIONS.get(condition, condition)


def _ranked(results: ResultsFolder, column: Column) -> dict[str, float]:
    """Return the value of each system by a condition's measure, the best first."""
    lower = results.is_lower_better(column[1])
    return dict(sorted(results.values(column).items(), key=lambda entry: entry[1], reverse=not lower))


def _headline(
    results: ResultsFolder, column: Column, pair: str, baseline: str = "", compared: AgainstBaseline | None = None
) -> str:
    """Return which system is best by a column, how far it is from the baseline, and whether that is sure."""
    condition, measure = column
    values = _ranked(results, column)
    named_so = instruction(condition, pair) if condition in CONDITIONS else condition
    under = " by the query alone" if condition == "query" else f" under {named_so}"
    text = signed if ">" in condition and is_compared_with_zero(measure) else format_value
    texts = {system: text(measure, value).replace("-", MINUS) for system, value in values.items()}
    first = next(iter(texts.values()))
    best = [system for system, printed in texts.items() if printed == first]
    others = [system for system in texts if system not in best]
    if len(texts) == 1:
        return f"{named(best)}{under}: {measure}{TIED}{first}."
    names = f"{named(best)}, the baseline," if best == [baseline] else named(best)
    if ">" in condition:
        extreme = "lowest" if results.is_lower_better(measure) else "highest"
        claim = f"{names} {'has' if len(best) == 1 else 'have'} the {extreme} {measure}: {first}"
    else:
        claim = f"{names} {'ranks' if len(best) == 1 else 'rank'} best{under}: {measure}{TIED}{first}"
    rival = best[0] if baseline in others else others[0] if best == [baseline] and others else ""
    rows = compared.rows if compared else []
    row = next((row for row in rows if (row["condition"], row["measure"], row["system"]) == (*column, rival)), None)
    if row is None or row["difference"] is None:
        return f"{claim}."
    difference, sure = signed(measure, row["difference"]), _sure(row)
    if best == [baseline]:
        return f"{claim}; {named([rival])} is next: {difference}{sure}."
    return f"{claim}, {difference} against {named([baseline])}{sure}."


def _sure(row: BaselineRow) -> str:
    """Return whether a difference is significant, and whether its interval says the same."""
    p_value = row["p_holm"]
    if p_value is None:
        return ", not tested: they rescored other pools" if row["same_pool"] is False else ""
    words = f", {'' if p_value < ALPHA else 'not '}significant (p{TIED}{p_text(p_value)})"
    if least_p(row["n"]) > ALPHA:
        return f"{words}: {number_of(row['n'], 'topic')} cannot show a difference"
    return f"{words}, although {interval}" if (interval := disagreement(row)) else words


def _words(system: str, settings: ManifestSettings, entries: Sequence[SystemEntry]) -> str:
    """Return a few words for the kind of a system; where rerankers rescored several pools, also for its own."""
    known = dict(settings.systems.get(system, ()))
    parts = {part for name in known for part in name.replace("[", ".").split(".")}
    words = [text for name, text in KINDS.items() if name in parts][:1]
    if known.get("system", "").startswith("bm25"):
        words = ["BM25 with feedback" if "rm3" in known["system"] else "Lucene BM25"]
    words += [value for name, value in known.items() if name.rpartition(".")[2] == "source"][:1]
    if not words and system in dict(settings.folder).get("settings.made elsewhere", "").split(", "):
        words = ["run made elsewhere"]
    pools = {entry["pool"] for entry in entries if entry.get("pool")}
    rescored = next((entry for entry in entries if entry["system"] == system and entry.get("pool")), None)
    if rescored and len(pools) > 1:
        depth, stages, documents = rescored.get("depth"), rescored.get("first_stages"), rescored.get("documents")
        pool = f"the top {depth} of {named(stages)} by topic" if depth and stages else "a pool"
        words = [word.removesuffix("; rescores the pool") for word in words]
        words.append(f"rescored {pool}{f': {documents:,} documents' if documents else ''}")
    return "; ".join(words)


def _counts(results: ResultsFolder, column: Column) -> str:
    """Return the number of topics, of documents where their store is here, and of systems."""
    topics = max(row["n"] for row in results.rows if (row["condition"], row["measure"]) == column)
    inputs = read_topics_file(results.path)
    store = inputs.open_store(results.path) if inputs else None
    documents = [f"{store.count:,} documents"] if store else []
    return " · ".join([number_of(topics, "topic"), *documents, number_of(len(results.names), "system")])
