"""Results folders: ``summary.json`` and ``per_topic.json`` read back and checked."""

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heed.errors import HeedError, fail

if TYPE_CHECKING:
    from heed.evaluation.summary import Detail, Row, Shift

LARGEST = 1e9  # beyond it a value is a mistake; NaN and infinity fall out with it


class Results(NamedTuple):
    """One results folder: ``folder`` is its path from the folder of the report, ``.`` for that folder itself."""

    folder: str
    collection: str
    subset: str
    rows: "list[Row]"
    details: "list[Detail]"
    shifts: "list[Shift]"

    @property
    def title(self) -> str:
        """Collection and subset, as they are named to a reader."""
        return " ".join(filter(None, (self.collection, self.subset)))

    def source(self, at: int) -> str:
        """Where the figure of row ``at`` was read."""
        return f"{self.folder}/summary.json#rows[{at}]"


def read_tree(runs: Path) -> list[Results]:
    """All results below ``runs``, by path; :class:`HeedError` with everything that is wrong in them.

    A run without judgements leaves a summary without rows; such folders are told and left out.
    """
    from heed.progress import log

    if not runs.is_dir():
        raise HeedError(f"{runs}: no such folder; give a results folder, such as runs/neuclir-sample/zho, or a tree")
    below = (path.relative_to(runs) for path in runs.rglob("summary.json"))
    paths = sorted(path for path in below if not any(part.startswith(".") for part in path.parts))
    if not paths:
        raise HeedError(f"{runs}: no summary.json in it or below it; give the --out folder of a collection command")
    problems: list[str] = []
    found = [_read_folder(runs / path.parent, path.parent.as_posix(), problems) for path in paths]
    empty = [f"{runs / one.folder / 'summary.json'}: no rows, nothing was measured" for one in found if not one.rows]
    measured = [one for one in found if one.rows]
    fail(problems or ([] if measured else [f"{one}; give judgements and run again" for one in empty]))
    for one in empty:
        log.info(f"{one}; left out")
    return measured


def _read_folder(folder: Path, name: str, problems: list[str]) -> Results:
    """The results of ``folder``; what is wrong with them is added to ``problems``."""
    summary = _read_object(folder / "summary.json", problems, {"collection": _LABEL, "subset": _LABEL, "rows": _LIST})
    rows = _checked(folder / "summary.json", "rows", summary, ROW, problems)
    _tell_doubles(folder / "summary.json", rows, problems)
    topics: dict[str, Any] = {}
    if (folder / "per_topic.json").exists():
        topics = _read_object(folder / "per_topic.json", problems, {"rows": _LIST, "shifts": _LIST})
    details = _checked(folder / "per_topic.json", "rows", topics, DETAIL, problems)
    shifts = _checked(folder / "per_topic.json", "shifts", topics, SHIFT, problems)
    _tell_strangers(folder / "per_topic.json", rows, details, problems)
    return Results(name, summary.get("collection", ""), summary.get("subset", ""), rows, details, shifts)


def _read_object(path: Path, problems: list[str], keys: "dict[str, Rule]") -> dict[str, Any]:
    """The object in ``path`` if it has all ``keys`` in order, else an empty one."""
    from heed.io.files import read_bytes

    try:
        value = json.loads(read_bytes(path).decode("utf-8-sig"))
    except HeedError as error:
        problems.append(str(error))
        return {}
    except (ValueError, RecursionError) as error:
        problems.append(f"{path}: not JSON in UTF-8 ({error}); run the collection again")
        return {}
    if not isinstance(value, dict):
        problems.append(f"{path}: found {_short(value)}, expected an object with {', '.join(keys)}")
        return {}
    told = list(_differences(value, keys))
    problems += [f"{path}: {one}" for one in told]
    return {} if told else value


def _checked(path: Path, key: str, holder: dict[str, Any], rules: "dict[str, Rule]", problems: list[str]) -> list[Any]:
    """The list ``holder[key]`` if every entry of it keeps the ``rules``, else an empty one."""
    entries = holder.get(key, [])
    told = [f"{path}: {key}[{at}]{one}" for at, entry in enumerate(entries) for one in _entry(entry, rules)]
    problems += told
    return [] if told else entries


def _entry(entry: Any, rules: "dict[str, Rule]") -> list[str]:
    if not isinstance(entry, dict):
        return [f": found {_short(entry)}, expected an object with {', '.join(rules)}"]
    return [f": {one}" for one in _differences(entry, rules)]


def _differences(value: dict[str, Any], rules: "dict[str, Rule]") -> list[str]:
    told = [f"no {key}, expected {rule.expected}" for key, rule in rules.items() if key not in value]
    wrong = (key for key, rule in rules.items() if key in value and not rule.holds(value[key]))
    return told + [f"{key} is {_short(value[key])}, expected {rules[key].expected}" for key in wrong]


def _tell_doubles(path: Path, rows: "list[Row]", problems: list[str]) -> None:
    first: dict[tuple[str, str, str], int] = {}
    for at, row in enumerate(rows):
        key = row["system"], row["condition"], row["measure"]
        if first.setdefault(key, at) != at:
            problems.append(f"{path}: rows[{first[key]}] and rows[{at}] are both {' '.join(key)}; expected one")


def _tell_strangers(path: Path, rows: "list[Row]", details: "list[Detail]", problems: list[str]) -> None:
    """Values by topic must belong to the summary beside them, not to an earlier one."""
    known = {(row["system"], row["condition"], row["measure"], row["n"]): row["value"] for row in rows}
    for at, one in enumerate(details):
        value = known.get((one["system"], one["condition"], one["measure"], one["n"]))
        if known and (value is None or abs(value - one["value"]) > 1e-9):
            problems.append(
                f"{path}: rows[{at}] is not a row of summary.json; the two differ, run the collection again"
            )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _is_label(value: Any) -> bool:
    return isinstance(value, str) and not any(unicodedata.category(one) in ("Cc", "Cs") for one in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


class Rule(NamedTuple):
    """What a field has to be, in words and as a test."""

    expected: str
    holds: Callable[[Any], bool]


_LABEL = Rule("text of one line", _is_label)
_NAME = Rule("a name in one line", lambda value: _is_label(value) and bool(value.strip()))
_LIST = Rule("a list", lambda value: isinstance(value, list))
_NUMBER = Rule("a number", _is_number)
_COUNT = Rule("a whole number from 0", lambda value: _is_number(value) and isinstance(value, int) and value >= 0)
_RANK = Rule("a rank from 1", lambda value: _is_number(value) and isinstance(value, int) and value >= 1)
_GROUP = Rule("compliant or violating", lambda value: value in ("compliant", "violating"))
_TOPICS = Rule(
    "numbers by qid",
    lambda value: isinstance(value, dict) and all(_is_label(qid) and _is_number(one) for qid, one in value.items()),
)
ROW = {"system": _NAME, "condition": _NAME, "measure": _NAME, "value": _NUMBER, "n": _COUNT}
DETAIL = ROW | {"per_topic": _TOPICS}
SHIFT = {"system": _NAME, "qid": _LABEL, "docid": _LABEL, "group": _GROUP, "base": _RANK, "new": _RANK}
