"""What the assessors of an added database are called here: one name must not be two people's."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from heed.errors import UsageError, fail
from heed.judging.annotate.entries import Entry
from heed.judging.annotate.payloads import check_name, refuse_reserved
from heed.judging.annotate.store import ADJUDICATED


def parse_names(texts: Sequence[str]) -> dict[str, str]:
    """Return names here by names there, from ``THERE=HERE``; :class:`UsageError` for other text and a name twice."""
    names: dict[str, str] = {}
    for text in texts:
        there, equals, here = text.partition("=")
        if not equals:
            raise UsageError(f"--as {text!r}: expected THERE=HERE, as 'Ann=Ann' or 'Ann=Ann of team 2'")
        if names.setdefault(check_name(there), refuse_reserved(check_name(here))) != check_name(here):
            raise UsageError(f"--as {text!r}: {there} has another name before; keep one")
    return names


def names_here(path: Path, theirs: Sequence[Entry], here: Sequence[Entry], names: Mapping[str, str]) -> dict[str, str]:
    """Return what the assessors of the log ``theirs``, which is ``path``'s, are called in the log ``here``.

    That is as in ``names``, or as when the log was added before; the adjudicator is one everywhere. Raises
    :class:`UsageError` for a name that is in both logs, where nothing says whether it is one person's.
    """
    owners = {entry.identity(): entry.assessor for entry in here}
    before = {entry.assessor: owners[entry.identity()] for entry in theirs if entry.identity() in owners}
    taken = {entry.assessor for entry in here}
    called: dict[str, str] = {}
    problems = []
    for name in sorted({entry.assessor for entry in theirs}):
        called[name] = name if name == ADJUDICATED else before.get(name) or names.get(name) or name
        if names.get(name, called[name]) != called[name]:
            problems.append(f"{path}: {name} was added as {called[name]} before, now {names[name]} is given")
        if name in taken and called[name] == name != ADJUDICATED and name not in before and name not in names:
            problems.append(
                f"{path}: {name} has judged here too; give --as '{name}={name}' if that is one person, "
                f"or a name for the other, --as '{name}={name} 2'"
            )
    for here_name, count in Counter(called.values()).items():
        if count > 1:
            same = [name for name, other in called.items() if other == here_name]
            problems.append(
                f"{path}: {' and '.join(same)} would both be {here_name} here; give them two names with --as"
            )
    fail(problems, UsageError)
    return called
