"""The one exception that Heed raises on purpose."""

from collections.abc import Iterable

SHOWN = 20  # problems printed before the rest are only counted


class HeedError(Exception):
    """A problem the user can mend: says what was found, where, and what to do about it."""


def fail(problems: Iterable[str]) -> None:
    """Raise one :class:`HeedError` that tells all ``problems``, one a line; do nothing without any."""
    told = list(problems)
    if not told:
        return
    lines = told[:SHOWN]
    if len(told) > SHOWN:
        lines.append(f"… and {len(told) - SHOWN} more problems of this kind")
    raise HeedError("\n".join(lines))
