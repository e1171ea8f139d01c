"""What a measure is: the function that computes it, and what tables, files and pages must know of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from heed.errors import ModelError
from heed.measures.inputs import Inputs
from heed.measures.measure_names import parse_name
from heed.measures.per_topic import Judged, PerTopic
from heed.types import Qrels, Run

LARGEST = 1e9  # the largest value that a results file holds
SUBTOPICS = "qrels by subtopic"  # in ``needs``: refused where the judgements have none


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A measure of one run, of two that are compared, or of three.

    ``function`` returns a value for each topic: of a run it is called with ``(run, qrels)``, of others with what
    ``takes`` picks from the inputs of a comparison, None where these do not allow it. ``parameters`` are the function's
    arguments by their names in a measure's name: ``@`` for the cutoff, ``rel`` of ``(rel=2)``. ``about`` are the runs
    and documents of a pairwise measure: it depends on how many of these documents are in the lists.

    ``by_name`` is whether it is computed where it is asked for by name, the others come of themselves; ``comes_with``
    names another measure; ``test`` is how two systems are compared by it; ``signed`` is whether its 0 is no effect, so
    that a mean is compared with it. ``value``, ``needs``, ``source`` and ``examples`` of its name are words for the
    page of measures. ``is_own`` is whether it is the user's; its ``config``, JSON data, says what decides its values
    beside runs and judgements, None that nobody knows.
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
    value: str = ""
    needs: str = "qrels"
    source: str = "Heed's own"
    examples: tuple[str, ...] = ()
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
        name.only(*self.parameters, cutoff="@" in self.parameters)
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
        numbers = {str(qid): _number(value) for qid, value in values.items()}
        wrong = [f"topic {qid}: {values[qid]!r:.60}" for qid in values if numbers[str(qid)] is None]
        if wrong:
            raise ModelError(f"measure {self.name}, {wrong[0]}; expected a number from -1e9 to 1e9, or no entry")
        return {qid: number for qid, number in numbers.items() if number is not None}


def _number(value: Any) -> float | None:
    """Return a value as a float; None for what a results file cannot hold."""
    try:
        number = float(value) if not isinstance(value, str | bytes) else None
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number is not None and abs(number) <= LARGEST else None
