"""The answer of a results folder in words: which systems follow the instruction, by each measure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from heed.measures.baseline import FEWEST, FOLLOWING, Verdict, instruction, verdicts, worse_than_query
from heed.measures.pairwise import P_MRR, SELECTIVITY
from heed.measures.per_topic import PerTopic
from heed.measures.significance import ALPHA, POWER, power_of
from heed.measures.summary import AgainstQuery, factor, format_value
from heed.report.results import TYPES, ResultsFolder

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
    "unclear": ("does not clearly follow {}", "do not clearly follow {}"),
}
WORSE = "ranks worse with {} than with the query alone", "rank worse with {} than with the query alone"
LAST = 5  # of those unclear by all measures
PLACES = {"follows": 0, "against": 3, "ignores": 4, "unclear": LAST}


class Answer(NamedTuple):
    """What the ``measures`` of a ``pair`` of conditions say, the first of which decides; empty where there are none.

    ``sentence`` says who follows the instruction, and ``shown`` what difference so many topics can show; both may be
    empty.
    """

    pair: str
    measures: list[str]
    sentence: str
    shown: str


def answer(results: ResultsFolder) -> Answer:
    """Return the answer of a folder, an empty one where no measure compares two conditions."""
    had = [column for column in results.columns if column[0] not in TYPES]
    lines = [(name, *others) for name, others in FOLLOWING.items()]
    chosen = ((names, column) for names in lines for column in had if column[1] == names[0])
    names, (pair, deciding) = next(chosen, ((), ("", "")))
    measures = [name for name in names if (pair, name) in had]
    details = [each for each in results.details if (each["condition"], each["measure"]) == (pair, deciding)]
    values = {each["system"]: each["value"] for each in details}
    of_system = verdicts(results.details, pair, measures)
    ordered = sorted(of_system, key=lambda system: values.get(system, float("-inf")), reverse=True)
    words = _Following(pair, {system: of_system[system] for system in ordered}, results.against_query)
    least, shown = _power(deciding, [each["per_topic"] for each in details])
    return Answer(pair, measures, words.sentence(least), shown)


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
        return f"{verb} ({'; '.join(figures)})"

    def _by_measures(self, group: _Group, compared: str) -> str:
        """Return the clause of measures whose verdicts differ, those of a single system with their intervals."""
        several, clauses = len(group.systems) > 1, list[str]()
        for kind in sorted(group.measures, key=[*VERBS].index):
            values = [self._values(measure, group.systems, not several) for measure in group.measures[kind]]
            verb = VERBS[kind][several].format("it" if clauses else compared)
            clauses.append(f"{'not clearly' if kind == 'unclear' else verb} by {' and '.join(values)}")
        return ", but ".join(clauses)

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
        return f"judged for it: {measure} {instructed}, by the query alone {alone}"


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
    of_two = f", and of {format_value(measure, between['difference'])} points between two systems" if between else ""
    return clause, (
        f"{topics} topics can show a difference of {from_zero} points of {measure} from 0{of_two} "
        f"(power {POWER}, two-sided t-test at {ALPHA:.0%})."
    )


def _range(numbers: Iterable[str]) -> str:
    least, *_, most = sorted([*numbers] * 2, key=float)
    return least if least == most else f"{least} to {most}"
