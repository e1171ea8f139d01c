"""The answer of a results folder in words: which systems follow the instruction, by each measure; and its table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from heed.measures.pairwise import P_MRR, SELECTIVITY
from heed.measures.power import POWER, Power, power_of
from heed.measures.significance import ALPHA, Interval
from heed.measures.summary import AgainstQuery, Detail, factor, format_value
from heed.measures.verdicts import FEWEST, Kind, Verdict, verdicts, worse_than_query
from heed.report.charts.part_charts import TYPES
from heed.report.results import Results

# The measures of a pair of conditions, the deciding one first: the first line that a folder has the first measure of.
MEASURES = (("IRS", P_MRR, "NFR"), ("WISE", P_MRR, "SICR"), (SELECTIVITY, P_MRR), (P_MRR,))
SCALES = {  # in printed units
    P_MRR: "−100 … 100; 0 = what is ruled out stays where it was",
    SELECTIVITY: "−200 … 200; 0 = what is ruled out falls no further than what stays relevant",
    "IRS": "−100 … 100; above 0 = what stays relevant rises, what is ruled out falls",
    "NFR": "0 … 100, lower is better; what is ruled out and rises",
    "WISE": "−100 … 100; 0 = the instruction is ignored",
    "SICR": "0 … 100; what stays relevant, rises with the instruction and falls with its reverse",
}
SIDES: tuple[Literal["instructed"], Literal["query"]] = ("instructed", "query")
LAST = 5  # of those unclear by all measures
MINUS = "\u2212"
NAMED = 4  # systems in a sentence, at most
VERBS: dict[Kind, tuple[str, str]] = {  # of one system and of several, in the order of the sentence
    "follows": ("follows {}", "follow {}"),
    "against": ("goes against {}", "go against {}"),
    "ignores": ("ignores {}", "ignore {}"),
    "unclear": ("does not clearly follow {}", "do not clearly follow {}"),
}


class Answer(NamedTuple):
    """A table of one row a system, the best first and last those not compared, of conditions and measures, ``columns``.

    ``indices`` are those of the folder's rows, by system, condition and measure; ``intervals`` by the same.
    ``deciding`` is the measure by which they are ordered. ``sentence`` says who follows the instruction, and ``shown``
    what difference so many topics can show; both may be empty.
    """

    pair: str
    deciding: str
    columns: list[tuple[str, str]]
    systems: list[str]
    indices: dict[tuple[str, str, str], int]
    intervals: dict[tuple[str, str, str], Interval]
    sentence: str
    shown: str


def answer(results: Results, further: Sequence[str] = ()) -> Answer | None:
    """Return the answer of a folder; None where no measure compares two conditions.

    It has columns of ``further`` measures of the same two conditions.
    """
    had = [(row["condition"], row["measure"]) for row in results.rows if row["condition"] not in TYPES]
    chosen = ((names, column) for names in MEASURES for column in had if column[1] == names[0])
    measures, (pair, deciding) = next(chosen, ((), ("", "")))
    if not measures:
        return None
    main = next((name for condition, name in had if condition == pair.rpartition(">")[2]), "")
    conditions = [*pair.split(">"), "reversed"]
    names = dict.fromkeys((*measures, *further))
    columns = [(condition, main) for condition in conditions] + [(pair, name) for name in names]
    indices = {(row["system"], row["condition"], row["measure"]): index for index, row in enumerate(results.rows)}
    values = {
        row["system"]: row["value"] for row in results.rows if (row["condition"], row["measure"]) == (pair, deciding)
    }
    details = [each for each in results.details if (each["condition"], each["measure"]) == (pair, deciding)]
    of_system = verdicts(results.details, pair, names)
    intervals = {
        (system, pair, measure): each.interval for system, of in of_system.items() for measure, each in of.items()
    }
    systems = dict.fromkeys(row["system"] for row in results.rows)
    ordered = sorted(systems, key=lambda system: values.get(system, float("-inf")), reverse=True)
    following = {
        system: {name: each for name, each in of_system.get(system, {}).items() if name in measures and each.kind}
        for system in ordered
    }
    shown = [column for column in columns if column in had]
    words = _Following(pair, {system: of for system, of in following.items() if of}, results.against_query)
    sentence = words.sentence(_least(deciding, _powers(details)))
    can_show = _shown_by_topics(deciding, details)
    return Answer(pair, deciding, shown, ordered, indices, intervals, sentence, can_show)


class _Group(NamedTuple):
    """Systems that a sentence names together: the verdicts of their measures are the same.

    ``worse`` is the condition under whose instruction they rank worse than by the query alone; it may be empty.
    """

    worse: str
    measures: dict[Kind, list[str]]
    systems: list[str]

    @property
    def order(self) -> int:
        """Its place in the sentence: first those that follow by all measures, last those unclear by all."""
        if self.worse:
            return 1
        if len(self.measures) > 1:
            return 2 if "follows" in self.measures else 3
        return {"follows": 0, "against": 3, "ignores": 4, "unclear": LAST}[next(iter(self.measures))]


class _Following(NamedTuple):
    """The verdicts on systems by measure, the best system first, and their rankings beside those of the query alone."""

    pair: str
    verdicts: Mapping[str, Mapping[str, Verdict]]
    against: Sequence[AgainstQuery]

    def sentence(self, least: str) -> str:
        """Return which systems follow the instruction and which do not; ``least`` is what so many topics can show."""
        worse = worse_than_query(self.against, [*self.pair.split(">"), "reversed"])
        groups: dict[str, _Group] = {}
        for system, by_measure in self.verdicts.items():
            condition = worse[system]["condition"] if system in worse else ""
            measures: dict[Kind, list[str]] = {}
            for measure, verdict in by_measure.items():
                measures.setdefault(verdict.kind, []).append(measure)
            groups.setdefault(condition or f"{measures}", _Group(condition, measures, [])).systems.append(system)
        instruction, clauses = self._instruction(self.pair.rpartition(">")[2]), list[str]()
        ordered = sorted(groups.values(), key=lambda group: group.order)
        if ordered and ordered[-1].order == LAST and not any("follows" in group.measures for group in ordered):
            alone = f"{named([*self.verdicts])} does not clearly follow"
            subject = alone if len(self.verdicts) == 1 else "No system clearly follows"
            clauses.append(f"{subject} {instruction}{least}")
            ordered.pop()
        for group in ordered:
            clauses.append((self._worse if group.worse else self._by_measures)(group, "it" if clauses else instruction))
        return f"{'; '.join(clauses)}." if clauses else ""

    def _worse(self, group: _Group, _: str) -> str:
        """Return the clause of systems that rank worse with an instruction, with their rankings and measures."""
        systems, verb = group.systems, "ranks" if len(group.systems) == 1 else "rank"
        values = (self._values(measure, systems) for measure in self._measures(systems))
        figures = "; ".join([self._ranking(group.worse, systems), *values])
        return (
            f"{named(systems)} {verb} worse with {self._instruction(group.worse)} than with the query alone ({figures})"
        )

    def _by_measures(self, group: _Group, instruction: str) -> str:
        """Return the clause of systems with the verdicts of their measures, each for itself where they differ."""
        systems, clauses = group.systems, list[str]()
        alike, several = len(group.measures) == 1, len(group.systems) > 1
        for kind in sorted(group.measures, key=[*VERBS].index):
            verb = VERBS[kind][several].format("it" if clauses else instruction)
            values = [self._values(measure, systems, not (several or alike)) for measure in group.measures[kind]]
            if not alike:
                clauses.append(f"{'not clearly' if kind == 'unclear' else verb} by {' and '.join(values)}")
            elif kind == "unclear":
                clauses.append(verb)
            else:
                with_query = kind == "follows" and self.pair.startswith("query>")
                ranking = self._ranking(self.pair.rpartition(">")[2], systems) if with_query else ""
                clauses.append(f"{verb} ({'; '.join(filter(None, [*values, ranking]))})")
        return f"{named(systems)} {', but '.join(clauses)}"

    def _measures(self, systems: Sequence[str]) -> list[str]:
        """Return the measures that all of the systems have."""
        return [name for name in self.verdicts[systems[0]] if all(name in self.verdicts[each] for each in systems)]

    def _values(self, measure: str, systems: Sequence[str], with_interval: bool = False) -> str:
        """Return the values of systems by a measure, ``IRS +30.6, +3.2``, or of one with its interval."""
        verdicts = [self.verdicts[system][measure] for system in systems]
        between = f" [{', '.join(signed(measure, bound) for bound in verdicts[0].interval)}]" if with_interval else ""
        return f"{measure} {named([signed(measure, verdict.value) for verdict in verdicts])}{between}"

    def _ranking(self, condition: str, systems: Sequence[str]) -> str:
        """Return the nDCG of systems under an instruction and without it; empty where the query alone was not run."""
        rows = {each["system"]: each for each in self.against if each["condition"] == condition}
        of_systems = [rows[system] for system in systems if system in rows]
        with_it, without = ([format_value(row["measure"], row[side]) for row in of_systems] for side in SIDES)
        return f"{of_systems[0]['measure']} {named(with_it)}, query alone {named(without)}" if of_systems else ""

    def _instruction(self, condition: str) -> str:
        """Return an instruction as a sentence names it."""
        only = self.pair.startswith("query>") and condition == "original"
        return "the instruction" if only else f"the {condition} instruction"


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


def _powers(details: Sequence[Detail]) -> list[Power]:
    """Return the power of each system's topics to tell a mean from 0."""
    values = [each["per_topic"] for each in details if len(each["per_topic"]) >= FEWEST]
    return [power for power in map(power_of, values) if power]


def _least(measure: str, powers: Sequence[Power]) -> str:
    """Return in a clause below which value none of the systems would be said to follow; empty where nothing varies."""
    if not powers:
        return ""
    least = min(powers, key=lambda power: power["difference"])
    points = factor(measure) * least["difference"]
    short = f"{points:.0f}" if points >= 10 else f"{points:.1f}"
    article = "an" if measure[0] in "AEIO" else "a"
    return f": with {least['n']} topics only {article} {measure} of {short} points or more would show"


def _shown_by_topics(measure: str, details: Sequence[Detail]) -> str:
    """Return a sentence with the least differences from 0 and between two systems that the topics can show."""
    powers = _powers(details)
    if not powers:
        return ""
    topics = _range(f"{power['n']}" for power in powers)
    from_zero = _range(format_value(measure, power["difference"]) for power in powers)
    between = power_of(*(each["per_topic"] for each in details)) if len(details) > 1 else None
    of_two = f", and of {format_value(measure, between['difference'])} points between two systems" if between else ""
    return (
        f"{topics} topics can show a difference of {from_zero} points of {measure} from 0{of_two} "
        f"(power {POWER}, two-sided t-test at {ALPHA:.0%})."
    )


def _range(numbers: Iterable[str]) -> str:
    least, *_, most = sorted([*numbers] * 2, key=float)
    return least if least == most else f"{least} to {most}"
