"""Values by topic, ranks of judged documents, runs and judgements of a comparison, and what a measure of them is."""

import ast
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from heed.errors import ModelError, UsageError
from heed.ranking import ranks
from heed.types import UNJUDGED, Qrels, Run, finite

PerTopic = dict[str, float]  # qid -> value
Judged = Mapping[str, Collection[str]]  # qid -> docids
Variant = Literal["paper", "released"]  # a paper's formula, or its released code's
Array = NDArray[np.float64]


def judged(qrels: Qrels) -> Qrels:
    """Return judgements without negative grades: such a document is not judged, as in trec_eval."""
    return {qid: {docid: grade for docid, grade in grades.items() if grade >= 0} for qid, grades in qrels.items()}


def mean(values: PerTopic) -> float:
    """Return the mean over topics, to the last bit the same in any order of them.

    Raises ZeroDivisionError without topics; report ``len(values)`` beside the mean.
    """
    return math.fsum(values.values()) / len(values)


def difference(first: PerTopic, second: PerTopic) -> PerTopic:
    """Return first − second for each topic that both have, in the order of their qids."""
    return {qid: first[qid] - second[qid] for qid in sorted(first.keys() & second.keys())}


class Ranks(NamedTuple):
    """Ranks, from 1, of all topics' documents in several runs, topic after topic.

    ``values`` has shape ``(runs, documents)``; ``sizes``, shape ``(topics,)``, is the number of
    documents of each of ``qids``.
    """

    qids: list[str]
    values: Array
    sizes: NDArray[np.int64]

    def means(self, values: Array) -> PerTopic:
        """Return the mean of ``values``, shape ``(documents,)``, over each topic's documents."""
        return self.by_topic(self.sums(values) / self.sizes)

    def sums(self, values: Array) -> Array:
        """Return the sum of ``values``, shape ``(documents,)``, over each topic's documents, shape ``(topics,)``."""
        if not self.qids:
            return np.empty(0)
        return np.add.reduceat(values, np.concatenate([[0], np.cumsum(self.sizes)[:-1]]))

    def by_topic(self, values: Array) -> PerTopic:
        """Return ``values``, shape ``(topics,)``, by qid."""
        return dict(zip(self.qids, values.tolist(), strict=True))


class RankedRun(dict[str, dict[str, float]]):
    """A run whose documents' ranks are computed once: the measures of a comparison are about the same ones."""

    def __init__(self, run: Run) -> None:
        """Hold the lists of ``run``, none of which may change from now on."""
        super().__init__(run)
        self._ranks: dict[str, dict[str, int]] = {}

    def ranks(self, qid: str, docids: Sequence[str]) -> list[int]:
        """Return the ranks of ``docids`` in the topic's list, as :func:`heed.ranking.ranks` does."""
        known = self._ranks.setdefault(qid, {})
        further = [docid for docid in docids if docid not in known]
        if further:
            known |= zip(further, ranks(self[qid], further), strict=True)
        return [known[docid] for docid in docids]


def _ranks(run: Run, qid: str, docids: Sequence[str]) -> list[int]:
    return run.ranks(qid, docids) if isinstance(run, RankedRun) else ranks(run[qid], docids)


def ranks_of(runs: Sequence[Run], judged: Judged) -> Ranks:
    """Return the ranks of ``judged`` in each of ``runs``, for the topics that have documents and are in all runs.

    Documents given as a sequence keep their order, those of a set are sorted. The rank of a
    document missing from a run is the list's length + 1.
    """
    qids = [qid for qid, docids in judged.items() if docids and all(qid in run for run in runs)]
    documents = {qid: _in_order(judged[qid]) for qid in qids}
    values = [[rank for qid in qids for rank in _ranks(run, qid, documents[qid])] for run in runs]
    sizes = np.array([len(documents[qid]) for qid in qids], dtype=np.int64)
    return Ranks(qids, np.array(values, dtype=np.float64).reshape(len(runs), int(sizes.sum())), sizes)


def scores_of(run: Run, judged: Judged, qids: Sequence[str], absent: float) -> Array:
    """Return the scores of the same documents in the same order; ``absent`` for one that is missing."""
    return np.array([run[qid].get(docid, absent) for qid in qids for docid in _in_order(judged[qid])], dtype=np.float64)


def _in_order(docids: Collection[str]) -> Sequence[str]:
    return docids if isinstance(docids, Sequence) else sorted(docids)


@dataclass(frozen=True)
class Inputs:
    """Runs and judgements of a comparison, all under the new run's qids.

    ``query_of`` names each topic's query; ``reverse`` is None where there is no third run; ``changed`` and ``traps``
    are docids by qid from files, or empty; ``corpus_size`` is 0 where unknown; ``variant`` is the papers' formulas or
    those of their released code.
    """

    base: Run
    new: Run
    qrels: Qrels
    new_qrels: Qrels
    query_of: Mapping[str, str]
    reverse: Run | None = None
    changed: Mapping[str, set[str]] = field(default_factory=dict)
    traps: Mapping[str, set[str]] = field(default_factory=dict)
    corpus_size: int = 0
    variant: Variant = "paper"

    @cached_property
    def relevant(self) -> dict[str, set[str]]:
        """The documents that are relevant for both runs, by qid."""
        return still_relevant(self.qrels, self.new_qrels)

    @cached_property
    def ruled_out(self) -> Mapping[str, set[str]]:
        """The documents that are no longer relevant, by qid: those of ``changed``, or by the judgements."""
        return self.changed or no_longer_relevant(self.qrels, self.new_qrels, self.variant)

    @cached_property
    def not_judged(self) -> Mapping[str, set[str]]:
        """The documents, by qid, that are neither ruled out nor kept, because the new judgements leave them open."""
        return {} if self.changed or self.variant == "released" else not_judged(self.qrels, self.new_qrels)

    @cached_property
    def runs(self) -> dict[str, Run]:
        """The two or three runs by their roles: base, new, reversed; each computes a document's rank once."""
        runs = {"base": self.base, "new": self.new} | ({"reversed": self.reverse} if self.reverse else {})
        return {role: run if isinstance(run, RankedRun) else RankedRun(run) for role, run in runs.items()}

    @property
    def two(self) -> tuple[Run, Run]:
        """The base and the new one of :attr:`runs`."""
        return self.runs["base"], self.runs["new"]


def no_longer_relevant(original: Qrels, changed: Qrels, variant: Variant = "paper") -> dict[str, set[str]]:
    """Return the documents, by qid, with a positive grade in ``original`` and 0 in ``changed``: those ruled out.

    Topics without any, and those in one qrels only, are left out, and so are the documents of :func:`not_judged`.
    ``released``: they are ruled out too, as by FollowTable's ``irs.py``, and by mteb 1.20's ``create_qrel_diff``, which
    takes every other grade and fails without a line. mteb 2 has the list from the data set.
    """
    return _once_relevant(original, changed, lambda grade: grade == 0 or (grade < 0 and variant == "released"))


def still_relevant(original: Qrels, changed: Qrels) -> dict[str, set[str]]:
    """Return the documents, by qid, with a positive grade in both qrels; topics without any are left out."""
    return _once_relevant(original, changed, lambda grade: grade > 0)


def not_judged(original: Qrels, changed: Qrels) -> dict[str, set[str]]:
    """Return the documents, by qid, with a positive grade in ``original`` that ``changed`` does not judge.

    Their grade there is negative, as in trec_eval, or they have none while the topic has some grade of 0 or below.
    A topic with positive grades only lists what is relevant: documents without a grade have 0.
    """
    return _once_relevant(original, changed, lambda grade: grade < 0)


def _once_relevant(original: Qrels, changed: Qrels, is_wanted: Callable[[int], bool]) -> dict[str, set[str]]:
    documents = {}
    for qid in (qid for qid in original if qid in changed):
        grades, absent = changed[qid], UNJUDGED if min(changed[qid].values(), default=1) <= 0 else 0
        documents[qid] = {d for d, grade in original[qid].items() if grade > 0 and is_wanted(grades.get(d, absent))}
    return {qid: docids for qid, docids in documents.items() if docids}


SUCH_AS = "expected such as nDCG@20, AP, R@1000, P@10, RR"
LARGEST = 1e9  # the largest value that a results file holds


class Name(NamedTuple):
    """``family(parameters)@cutoff``; the cutoff of ``IPrec`` is a recall, None where there is none."""

    text: str
    family: str
    parameters: dict[str, Any]
    cutoff: float | None

    def depth(self) -> int:
        """Return the cutoff, a whole number from 1; raises :class:`UsageError` where there is none."""
        if self.cutoff is None:
            raise UsageError(f"measure {self.text}: needs a cutoff, such as @10; {SUCH_AS}")
        if self.cutoff != int(self.cutoff):
            raise UsageError(f"measure {self.text}: its cutoff is no whole number; {SUCH_AS}")
        return int(self.cutoff)


def parse_name(text: str) -> Name:
    """Return the parts of a measure's name; raises :class:`UsageError` for a text of another form.

    ir_measures' own parser fails on Python 3.14 and warns before; trec_eval ends the process at a cutoff of 0.
    """
    parts = re.fullmatch(r"([^\W\d]\w*)(?:\((.*)\))?(?:@(0?\.\d+|1\.0+|[1-9]\d*))?", text)
    try:
        if not parts:
            raise ValueError
        return Name(text, parts[1], _parameters(parts[2] or ""), float(parts[3]) if parts[3] else None)
    except (SyntaxError, ValueError) as error:
        problem = "its cutoff is no number from 1" if re.fullmatch(r"\w+@[\w.-]*", text) else "unknown"
        raise UsageError(f"measure {text!r}: {problem}; {SUCH_AS}") from error


def _parameters(text: str) -> dict[str, Any]:
    """Return ``rel=2, dcg='exp-log2'`` as a dictionary; ValueError for anything but plain values by name."""
    call = ast.parse(f"f({text})", mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise ValueError
    return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A measure of one run, of two that are compared, or of three.

    ``function`` returns a value for each topic: of a run it is called with ``(run, qrels)``, of others with what
    ``takes`` picks from the inputs of a comparison, None where these do not allow it. ``parameters`` are the function's
    arguments by their names in a measure's name: ``@`` for the cutoff, ``rel`` of ``(rel=2)``. ``about`` are the runs
    and documents of a pairwise measure: it depends on how many of these documents are in the lists.

    ``by_name`` is whether it is computed where it is asked for by name, the others come of themselves; ``comes_with``
    names another measure; ``test`` is how two systems are compared by it; ``signed`` is whether its 0 is no effect, so
    that a mean is compared with it. ``example`` is its name with a cutoff, for help. ``is_own`` is whether it is the
    user's; its ``config``, JSON data, says what decides its values beside runs and judgements, None that nobody knows.
    """

    name: str
    function: Callable[..., PerTopic]
    of: Literal["run", "pair", "three"] = "run"
    takes: Callable[[Inputs], tuple[Any, ...] | None] | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    cutoff_optional: bool = False
    about: Callable[[Inputs], tuple[Sequence[Run], Judged]] | None = None
    lower_is_better: bool = False
    by_name: bool = True
    comes_with: str = ""
    test: Literal["fisher", "wilcoxon"] = "fisher"
    signed: bool = False
    example: str = ""
    is_own: bool = False
    config: Any = None

    def __str__(self) -> str:
        """Return its name, as names of measures stand in for measures."""
        return self.name

    def __call__(self, *arguments: Any) -> PerTopic:
        """Return the function's values: a declared function can still be called."""
        return self.function(*arguments)

    def with_parameters(self, text: str) -> Callable[..., PerTopic]:
        """Return the function with the cutoff and the parameters of a name, such as ``alpha_nDCG(alpha=0.8)@10``.

        Raises :class:`UsageError` for others than it has, and for a cutoff that is missing.
        """
        if text == self.name and (self.cutoff_optional or "@" not in self.parameters):
            return self.function
        name = parse_name(text)
        if unknown := [parameter for parameter in name.parameters if parameter not in self.parameters]:
            raise UsageError(f"measure {text}: unknown parameter {unknown[0]}")
        if name.cutoff is not None and "@" not in self.parameters:
            raise UsageError(f"measure {text}: takes no cutoff; {SUCH_AS}")
        arguments = {self.parameters[parameter]: value for parameter, value in name.parameters.items()}
        if "@" in self.parameters and not (self.cutoff_optional and name.cutoff is None):
            arguments[self.parameters["@"]] = name.depth()
        return partial(self.function, **arguments)

    def of_run(self, text: str, run: Run, qrels: Qrels) -> PerTopic:
        """Return the values of a run's topics, the measure called by ``text``."""
        return self._values(self.with_parameters(text), (run, qrels))

    def of_pair(self, text: str, inputs: Inputs) -> PerTopic:
        """Return the values of a comparison's topics, empty where ``inputs`` do not allow the measure."""
        function, arguments = self.with_parameters(text), self.takes(inputs) if self.takes else None
        return {} if arguments is None else self._values(function, arguments)

    def _values(self, function: Callable[..., PerTopic], arguments: tuple[Any, ...]) -> PerTopic:
        """Return the values; :class:`ModelError` where a user's function fails, or returns no numbers by qid."""
        if not self.is_own:
            return function(*arguments)
        try:
            values = function(*arguments)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise ModelError(
                f"measure {self.name}: its function fails, {problem:.200}; a run may lack topics"
            ) from error
        if not isinstance(values, Mapping):
            raise ModelError(f"measure {self.name}: returned {type(values).__name__}; expected qid -> value")
        numbers = {str(qid): finite(value) for qid, value in values.items()}
        for qid, value in values.items():
            if (number := numbers[str(qid)]) is None or abs(number) > LARGEST:
                said = f"topic {qid}: {value!r:.60}; expected a number from -1e9 to 1e9, or no entry"
                raise ModelError(f"measure {self.name}, {said}")
        return {qid: number for qid, number in numbers.items() if number is not None}
