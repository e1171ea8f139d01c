"""What a command took, told at its end: wall time per stage, what was done a second, peak memory."""

from collections.abc import Sequence

from heed.memory import peak_mib
from heed.progress import Timing, duration, log

SHOWN = 0.01  # seconds; a stage that took less was found done
HEAD = {"stage": str.ljust, "system": str.ljust, "time": str.rjust, "done": str.rjust, "peak MiB": str.rjust}


def resource_report(measured: Sequence[Timing]) -> str:
    """One line a stage of a hundredth of a second or more, and peak memory; empty where nothing was timed.

    A stage may hold others (``prepare`` holds ``embed``), so its seconds are no sum. What was found
    done by an earlier run has no rate.
    """
    if not measured:
        return ""
    rows = [tuple(HEAD), *(_row(one) for one in measured if one["seconds"] >= SHOWN)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [
        "  ".join(align(cell, width) for align, cell, width in zip(HEAD.values(), row, widths, strict=True))
        for row in rows
    ]
    return "\n".join((*map(str.rstrip, lines), f"peak memory {peak_mib():.0f} MiB, Java and models included"))


def log_resources(timings: Sequence[Timing]) -> None:
    """Log what the stages took; nothing where all were reused."""
    if any(timing["seconds"] >= SHOWN for timing in timings):
        log.info(resource_report(timings))


def _row(one: Timing) -> tuple[str, ...]:
    return one["stage"], one["system"], duration(one["seconds"]), _done(one), f"{one['peak_mib']:.0f}"


def _done(one: Timing) -> str:
    if not one["count"]:
        return ""
    rate = one["count"] / max(one["seconds"], 0.001)
    return f"{one['count']} {one['unit']}, {rate:{'.0f' if rate >= 100 else '.3g'}}/s"
