"""The first screen of a folder in the page: which system is best, is that sure, which systems follow?"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from heed.measures.baseline import (
    FEWEST,
    FOLLOWING,
    AgainstBaseline,
    BaselineRow,
    Verdict,
    disagreement,
    instruction,
    p_text,
    verdicts,
    worse_than_query,
)
from heed.measures.pairwise import P_MRR, SELECTIVITY
from heed.measures.per_topic import PerTopic
from heed.measures.significance import ALPHA, POWER, is_compared_with_zero, least_p, power_of
from heed.measures.summary import (
    ON_REQUEST,
    AgainstQuery,
    SystemEntry,
    cutoff_of,
    ends_before,
    factor,
    format_value,
    is_merit,
    list_depths,
)
from heed.progress import number_of
from heed.report.results import TYPES, Column, ManifestSettings, ResultsFolder
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
FUSED = {"rrf": "reciprocal rank fusion", "sum": "sum of scores"}

# of the sentence
SCALES = {  # in printed units
    P_MRR: "−100 … 100; 0 = what is ruled out stays where it was",
    SELECTIVITY: "−200 … 200; 0 = what is ruled out falls no further than what stays relevant",
    "IRS": "−100 … 100; above 0 = what stays relevant rises, what is ruled out falls",
    "NFR": "0 … 100, lower is better; what is ruled out and rises",
    "WISE": "−100 … 100; 0 = the instruction is ignored",
    "SICR": "0 … 100; what stays relevant, rises with the instruction and falls with its reverse",
}
MINUS = "\u2212"
NAMED = 4  # systems in a sentence, at most
VERBS = {  # of one system and of several, in the order of the sentence
    "follows": ("follows {}", "follow {}"),
    "against": ("goes against {}", "go against {}"),
    "ignores": ("ignores {}", "ignore {}"),
    "unseen": ("does not clearly follow {}", "do not clearly follow {}"),
    "unclear": ("does not clearly follow {}", "do not clearly follow {}"),
}
WORSE = "ranks worse with {} than with the query alone", "rank worse with {} than with the query alone"
LAST = 5  # of those unclear by all measures
PLACES = {"follows": 0, "unseen": 2, "against": 3, "ignores": 4, "unclear": LAST}


class Answer(NamedTuple):
    """What the ``measures`` of a ``pair`` of conditions say, the first of which decides; empty where there are none.

    ``sentence`` says who follows the instruction, and ``shown`` what difference so many topics can show; both may be
    empty.
    """

    pair: str
    measures: list[str]
    sentence: str
    shown: str


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

    Its ``data`` numbers systems and columns as :func:`heed.report.page.figures` does.
    """
    columns, systems, pair = results.columns, results.names, answered.pair
    whole = [column for column in columns if column[0] in CONDITIONS or ">" in column[0]]
    choices = [column for column in whole if is_merit(column[1]) and column[1] not in ON_REQUEST]
    choices = sorted(choices, key=_order) or columns[:1]
    against_each: list[tuple[str, AgainstBaseline | None]] = [*compared.items()] or [("", None)]
    headlines = [
        [
            _headline(results, column, pair, baseline, against) + _of_depths(results, column[1])
            for baseline, against in against_each
        ]
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


def _of_depths(results: ResultsFolder, measure: str) -> str:
    """Return a sentence that lists of different depth do not compare, or end before a measure does; it may be empty."""
    depths = list_depths(results.systems)
    short = {name: depth for name, depth in depths.items() if ends_before(name, measure, depths)}
    listed = named([f"{name} {depth}" for name, depth in (short or depths).items()] or [""])
    if short:
        return f" No {measure} of shorter lists: {listed} documents."
    differ = not cutoff_of(measure) and len({*depths.values()}) > 1
    return f" Their lists differ in depth: {listed} documents." if differ else ""


def _sure(row: BaselineRow) -> str:
    """Return whether a difference is significant, and whether its interval says the same."""
    p_value = row["p_holm"]
    if p_value is None:
        return ", not tested: other pools, or lists of another depth" if row["same_pool"] is False else ""
    words = f", {'' if p_value < ALPHA else 'not '}significant (p{TIED}{p_text(p_value)})"
    if least_p(row["n"]) > ALPHA:
        return f"{words}: {number_of(row['n'], 'topic')} cannot show a difference"
    return f"{words}, although {interval}" if (interval := disagreement(row)) else words


def _words(system: str, settings: ManifestSettings, entries: Sequence[SystemEntry]) -> str:
    """Return a few words for the kind of a system; where rerankers rescored several pools, also for its own."""
    known = dict(settings.systems.get(system, ()))
    words = [KINDS[name] for name in _kinds(known)][:1]
    if known.get("system", "").startswith("bm25"):
        words = ["BM25 with feedback" if "rm3" in known["system"] else "Lucene BM25"]
    words += _sources(known)
    if how := FUSED.get(known.get("fused", "").rpartition(", ")[2]):
        of_parts: dict[str, dict[str, str]] = {}
        for name, value in known.items():
            if name.startswith("of["):
                of_parts.setdefault(name.partition(".")[0], {})[name.partition(".")[2]] = value
        named_so = ([each.get("system", ""), *_kinds(each), *_sources(each)] for each in of_parts.values())
        words = [f"{how} of {', '.join(next(filter(None, names), 'another') for names in named_so)}"]
    if not words and system in dict(settings.folder).get("settings.made elsewhere", "").split(", "):
        words = ["run made elsewhere"]
    pools = {entry["pool"] for entry in entries if entry.get("pool")}
    rescored = next((entry for entry in entries if entry["system"] == system and entry.get("pool")), None)
    depths = list_depths(entries)
    is_short = depths.get(system, math.inf) < max(depths.values(), default=0)
    if rescored and (len(pools) > 1 or is_short):
        depth, stages, documents = rescored.get("depth"), rescored.get("first_stages"), rescored.get("documents")
        pool = f"the top {depth} of {named(stages)} by topic" if depth and stages else "a pool"
        words = [word.removesuffix("; rescores the pool") for word in words]
        words.append(f"rescored {pool}{f': {documents:,} documents' if documents else ''}")
    elif is_short:
        words.append(f"lists of {depths[system]} documents")
    return "; ".join(words)


def _kinds(known: Mapping[str, str]) -> list[str]:
    """Return the kinds of system that settings name."""
    parts = {part for name in known for part in name.replace("[", ".").split(".")}
    return [name for name in KINDS if name in parts]


def _sources(known: Mapping[str, str]) -> list[str]:
    """Return where the first model of settings is from, if any."""
    return [value for name, value in known.items() if name.rpartition(".")[2] == "source"][:1]


def _counts(results: ResultsFolder, column: Column) -> str:
    """Return the number of topics of a column, and of all, of documents where their store is here, and of systems."""
    count = max(row["n"] for row in results.rows if (row["condition"], row["measure"]) == column)
    inputs = read_topics_file(results.path)
    total = len(inputs.topics) if inputs else count
    topics = f"{count} of {total} topics" if count < total else number_of(count, "topic")
    store = inputs.open_store(results.path) if inputs else None
    documents = [f"{store.count:,} documents"] if store else []
    return " · ".join([topics, *documents, number_of(len(results.names), "system")])


def answer(results: ResultsFolder) -> Answer:
    """Return the answer of a folder, an empty one where no measure compares two conditions."""
    had = [column for column in results.columns if column[0] not in TYPES]
    lines = [(name, *others) for name, others in FOLLOWING.items()]
    chosen = ((names, column) for names in lines for column in had if column[1] == names[0])
    names, (pair, deciding) = next(chosen, ((), ("", "")))
    measures = [name for name in names if (pair, name) in had]
    details = [each for each in results.details if (each["condition"], each["measure"]) == (pair, deciding)]
    values = {each["system"]: each["value"] for each in details}
    of_system = verdicts(results.details, results.as_seen, pair, measures)
    ordered = sorted(of_system, key=lambda system: values.get(system, float("-inf")), reverse=True)
    words = _Following(pair, {system: of_system[system] for system in ordered}, results.against_query)
    least, shown = _power(deciding, [each["per_topic"] for each in details])
    return Answer(pair, measures, words.sentences(least, list_depths(results.systems)), shown)


class _Group(NamedTuple):
    """Systems that a sentence names together: the verdicts of their ``measures`` are the same.

    ``worse`` is the condition under whose instruction they rank worse than by the query alone; it may be empty.
    """

    worse: str
    measures: dict[str, list[str]]
    systems: list[str]

    @property
    def order(self) -> int:
        """Its place in the sentence: first those that follow by all measures, last those unclear by all."""
        if self.worse:
            return 1
        if len(self.measures) > 1:
            return 2 if "follows" in self.measures else 3
        return PLACES[next(iter(self.measures))]


class _Following(NamedTuple):
    """The verdicts on systems by measure, the best system first, and their rankings beside those of the query alone."""

    pair: str
    verdicts: Mapping[str, Mapping[str, Verdict]]
    against: Sequence[AgainstQuery]

    def sentences(self, least: str, depths: Mapping[str, int]) -> str:
        """Return which systems follow the instruction: a sentence of those with lists of one depth, where it differs.

        ``least`` is what so many topics can show.
        """
        by_depth: dict[int, dict[str, Mapping[str, Verdict]]] = {}
        for system, by_measure in self.verdicts.items():
            by_depth.setdefault(depths.get(system, 0), {})[system] = by_measure
        if len(by_depth.keys() - {0}) < 2:
            return self.sentence(least)
        texts = [
            f"In lists of {f'{depth} documents' if depth else 'unknown depth'}, "
            f"{self._replace(verdicts=by_depth[depth]).sentence(least).replace('No system', 'no system', 1)}"
            for depth in sorted(by_depth, reverse=True)
        ]
        return " ".join([*texts, "The depth of the lists alone can make a difference."])

    def sentence(self, least: str) -> str:
        """Return which systems follow the instruction and which do not; ``least`` is what so many topics can show."""
        worse = worse_than_query(self.against, [*self.pair.split(">"), "reversed"])
        groups: dict[str, _Group] = {}
        for system, by_measure in self.verdicts.items():
            condition, measures = worse.get(system, ""), dict[str, list[str]]()
            for measure, verdict in by_measure.items():
                measures.setdefault("" if condition else verdict.kind, []).append(measure)
            groups.setdefault(f"{condition}{measures}", _Group(condition, measures, [])).systems.append(system)
        compared, clauses = instruction(self.pair.rpartition(">")[2], self.pair), list[str]()
        ordered = sorted(groups.values(), key=lambda group: group.order)
        if ordered and ordered[-1].order == LAST and not any("follows" in group.measures for group in ordered):
            alone = f"{named([*self.verdicts])} does not clearly follow"
            subject = alone if len(self.verdicts) == 1 else "No system clearly follows"
            clauses.append(f"{subject} {compared}{least}")
            ordered.pop()
        said = compared if clauses else ""  # the instruction that was named last, which "it" would be
        for group in ordered:
            clauses.append(f"{named(group.systems)} {self._verb(group, 'it' if said == compared else compared)}")
            said = instruction(group.worse, self.pair) if group.worse else compared
        return f"{'; '.join(clauses)}." if clauses else ""

    def _verb(self, group: _Group, compared: str) -> str:
        """Return the clause behind the names of a group, each measure for itself where the verdicts differ."""
        systems, several = group.systems, len(group.systems) > 1
        if group.worse:
            figures = [self._values(measure, systems) for measure in group.measures[""]]
            verb = WORSE[several].format(instruction(group.worse, self.pair))
            return f"{verb} ({'; '.join([self._ranking(group.worse, systems), *figures])})"
        if len(group.measures) > 1:
            return self._by_measures(group, compared)
        [(kind, measures)] = group.measures.items()
        verb = VERBS[kind][several].format(compared)
        if kind == "unclear":
            return verb
        figures = [self._values(measure, systems) for measure in measures]
        if kind == "follows" and self.pair.startswith("query>"):
            figures += filter(None, [self._ranking(self.pair.rpartition(">")[2], systems)])
        return f"{verb} ({'; '.join(figures)}){self._reasons(measures, systems)}"

    def _reasons(self, measures: Sequence[str], systems: Sequence[str]) -> str:
        """Return why figures of systems are no verdict, where they are none."""
        verdicts = (self.verdicts[system][measure] for measure in measures for system in systems)
        reasons = dict.fromkeys(verdict.reason for verdict in verdicts if verdict.reason)
        return f", since {named([*reasons])}" if reasons else ""

    def _by_measures(self, group: _Group, compared: str) -> str:
        """Return the clause of measures whose verdicts differ, those of a single system with their intervals."""
        several, clauses = len(group.systems) > 1, list[str]()
        for kind in sorted(group.measures, key=[*VERBS].index):
            values = [self._values(measure, group.systems, not several) for measure in group.measures[kind]]
            verb = VERBS[kind][several].format("it" if clauses else compared)
            by = f"by {' and '.join(values)}{self._reasons(group.measures[kind], group.systems)}"
            if kind == "unclear":
                verb = ", nor" if "unseen" in group.measures else ", but not clearly"
            clauses.append(f"{', but ' if clauses and kind != 'unclear' else ''}{verb} {by}")
        return "".join(clauses)

    def _values(self, measure: str, systems: Sequence[str], with_interval: bool = False) -> str:
        """Return the values of systems by a measure, ``IRS +30.6, +3.2``, or of one with its interval."""
        verdicts = [self.verdicts[system][measure] for system in systems]
        between = f" [{', '.join(signed(measure, bound) for bound in verdicts[0].interval)}]" if with_interval else ""
        return f"{measure} {named([signed(measure, verdict.value) for verdict in verdicts])}{between}"

    def _ranking(self, condition: str, systems: Sequence[str]) -> str:
        """Return the nDCG of systems under an instruction and without it; empty where the query alone was not run."""
        rows = {each["system"]: each for each in self.against if each["condition"] == condition}
        of_systems = [rows[system] for system in systems if system in rows]
        if not of_systems:
            return ""
        measure = of_systems[0]["measure"]
        instructed = named([format_value(measure, row["instructed"]) for row in of_systems])
        alone = named([format_value(measure, row["query"]) for row in of_systems])
        return f"both judged for the instruction: {measure} {instructed}, by the query alone {alone}"


def named(texts: Sequence[str]) -> str:
    """Return names or figures of systems as a sentence has them: some, and the number of the others."""
    shown = [each if each.isascii() or each[0] == MINUS else f"\u2068{each}\u2069" for each in texts]
    if len(shown) > NAMED:
        shown[NAMED - 1 :] = [f"{len(shown) - NAMED + 1} more"]
    *first, last = shown
    return f"{', '.join(first)} and {last}" if first else last


def signed(measure: str, value: float) -> str:
    """Return a printed value with its sign, as a sentence has it."""
    text = format_value(measure, value)
    return text.replace("-", MINUS) if float(text) <= 0 else f"+{text}"


def _power(measure: str, values: Sequence[PerTopic]) -> tuple[str, str]:
    """Return below which value no system would be said to follow, as a clause, and what the topics can show.

    Both are empty where nothing varies; ``values`` are those of each system by topic.
    """
    powers = [power for power in (power_of(each) for each in values if len(each) >= FEWEST) if power]
    if not powers:
        return "", ""
    least = min(powers, key=lambda power: power["difference"])
    points = factor(measure) * least["difference"]
    short = f"{points:.0f}" if points >= 10 else f"{points:.1f}"
    article = "an" if measure[0] in "AEIO" else "a"
    clause = f": with {least['n']} topics only {article} {measure} of {short} points or more would show"
    topics = _range(f"{power['n']}" for power in powers)
    from_zero = _range(format_value(measure, power["difference"]) for power in powers)
    between = power_of(*values) if len(values) > 1 else None
    two = f", or two systems differ by {format_value(measure, between['difference'])}" if between else ""
    return clause, (
        f"With {topics} topics a result is clear where a system's {measure} is {from_zero} points or more from 0{two} "
        f"(power {POWER}, two-sided t-test at {ALPHA:.0%})."
    )


def _range(numbers: Iterable[str]) -> str:
    least, *_, most = sorted([*numbers] * 2, key=float)
    return least if least == most else f"{least} to {most}"
