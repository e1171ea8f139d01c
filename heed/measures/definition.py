"""What a measure is: its name, the function that computes it, and what tables, files and pages must know of it."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

from heed.errors import ModelError, UsageError
from heed.measures.per_topic import Inputs, Judged, PerTopic
from heed.types import Qrels, Run, finite

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
