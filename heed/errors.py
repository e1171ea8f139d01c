"""The errors that Heed raises on purpose."""

import difflib
import re
from collections.abc import Iterable, Mapping

SHOWN = 20  # problems printed before the rest are only counted
MANY = 5  # problems that are the same in so many lines are one


class HeedError(Exception):
    """An error that the user can fix: the message says what was found, where, and what to do about it."""


class UsageError(HeedError):
    """Settings or arguments are wrong or contradict each other."""


class DataError(HeedError):
    """A file is missing, cannot be read, or does not hold what it should."""


class UnknownError(DataError, KeyError):
    """A name that is not there, where one is looked up as in a dictionary."""

    __str__ = Exception.__str__


class BusyError(DataError):
    """Another process works in the folder, or another experiment of this one."""


class ModelError(HeedError):
    """A model cannot be loaded, or gives no usable scores or vectors."""


class ServiceError(HeedError):
    """A model behind an API cannot be asked, or did not answer."""


class WorkerError(HeedError):
    """A worker process, GPU or Ray cluster is missing or was lost."""


class JavaError(HeedError):
    """Java cannot be started, or Lucene raised an exception."""


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, the name of its class without one."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def request_reason(error: Exception) -> str:
    """Return the cause of an error of requests in one line, without the history of its retries."""
    first = error.args[0] if error.args else error
    return " ".join(str(getattr(first, "reason", first)).split()) or type(error).__name__


def in_one_line(error: Exception) -> str:
    """Return the class and the message of an error of somebody else's code, cut to one short line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def fail(problems: Iterable[str], error: type[HeedError] = DataError) -> None:
    """Raise one ``error`` that lists all ``problems``, one a line, and once what is the same in many lines."""
    listed = list(problems)
    if not listed:
        return
    lines = listed[:SHOWN]
    if len(listed) > MANY and len({re.sub(r"line \d+", "", problem) for problem in listed}) == 1:
        first = ", ".join(re.findall(r"line (\d+)", " ".join(listed[:MANY])))
        lines = [f"{listed[0]}; the same in {len(listed)} lines: {first}, …"]
    elif len(listed) > SHOWN:
        lines.append(f"… and {len(listed) - SHOWN} more problems of this kind")
    raise error("\n".join(lines))


def did_you_mean(
    name: str, known: Iterable[str] | Mapping[str, str], most: int = 1, cutoff: float = 0.6, before: str = ""
) -> str:
    """Return ``before`` and "did you mean A or B?" with the known names nearest to ``name``; empty where none is near.

    ``known`` may be names by other spellings of them. Capitals make no difference.
    """
    known = known if isinstance(known, Mapping) else list(known)
    sought = name.casefold()
    ratios = {each: difflib.SequenceMatcher(None, each.casefold(), sought).ratio() for each in known}

    def distance(each: str) -> tuple[float, bool, bool]:  # WRT is WTR rather than WQT, -22 is 2022 rather than 2024
        return -ratios[each], sorted(each) != sorted(name), not each.endswith(name[-2:])

    near_first = sorted(sorted(known, reverse=True), key=distance)
    matches = [each for each in near_first if ratios[each] >= cutoff]
    named = [known[match] for match in matches] if isinstance(known, Mapping) else matches
    near = list(dict.fromkeys(named))[:most]
    return f"{before}did you mean {' or '.join(near)}?" if near else ""
