"""What stages and systems took, as a command logs it: time, documents a second, and peak memory."""

from collections.abc import Sequence

from heed.measures.summary import aligned
from heed.process import peak_mib
from heed.progress import Timing, duration, log, plain_rate

SHOWN = 0.01  # seconds; a stage that took less was reused


def resource_report(timings: Sequence[Timing]) -> str:
    """Return one line for each stage of a hundredth of a second or more, and peak memory.

    A stage may contain others (``prepare`` contains ``embed``), so its seconds are no sum. What an earlier
    run had done has no rate.
    """
    rows = [["stage", "system", "time", "done", "peak MiB"]]
    for timing in timings:
        if timing["seconds"] >= SHOWN:
            seconds, peak = duration(timing["seconds"]), f"{timing['peak_mib']:.0f}"
            rows.append([timing["stage"], timing["system"], seconds, _done(timing), peak])
    return f"{aligned(rows, left=2)}\npeak memory {peak_mib():.0f} MiB, Java and models included"


def log_resources(timings: Sequence[Timing]) -> None:
    """Log what the stages took, for ``--verbose``; nothing where all were reused."""
    if any(timing["seconds"] >= SHOWN for timing in timings):
        log.debug(resource_report(timings))


def _done(timing: Timing) -> str:
    if not timing["count"]:
        return ""
    rate = timing["count"] / max(timing["seconds"], 0.001)
    return f"{timing['count']} {timing['unit']}, {plain_rate(rate)}/s"
