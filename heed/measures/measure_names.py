"""Names of measures, such as ``nDCG@20`` and ``alpha_nDCG(alpha=0.8)@10``, taken apart."""

import ast
import re
from typing import Any, NamedTuple

from heed.errors import UsageError

SUCH_AS = "expected such as nDCG@20, AP, R@1000, P@10, RR"


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

    def only(self, *parameters: str, cutoff: bool = True) -> None:
        """Raise :class:`UsageError` for other parameters, and for a cutoff where there can be none."""
        unknown = [name for name in self.parameters if name not in parameters]
        if unknown:
            raise UsageError(f"measure {self.text}: unknown parameter {unknown[0]}")
        if not cutoff and self.cutoff is not None:
            raise UsageError(f"measure {self.text}: takes no cutoff; {SUCH_AS}")


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
        raise UsageError(f"measure {text!r}: unknown; {SUCH_AS}") from error


def _parameters(text: str) -> dict[str, Any]:
    """Return ``rel=2, dcg='exp-log2'`` as a dictionary; ValueError for anything but plain values by name."""
    call = ast.parse(f"f({text})", mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise ValueError
    return {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
