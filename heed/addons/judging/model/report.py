"""A model's judgements on disk, under a name that no judgements of people have, and as a report."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heed.addons.apis.cost import ESTIMATE
from heed.addons.judging.agreement import Comparison
from heed.addons.judging.model.judge import Judged
from heed.errors import DataError, HeedError
from heed.files import digest, parse_json, read_text, unpacked_name, write_json
from heed.formats.trec_files import write_qrels
from heed.measures.summary import aligned

SHOWN = 200  # characters of a refused answer
JUDGE = "judge"  # the key by which the note beside judgements says that a model made them


def judgements_path(pool: Path, model: str, condition: str) -> Path:
    """Return ``<pool>.<model>.<condition>.qrels`` beside the pool."""
    stem = unpacked_name(pool).removesuffix(".jsonl")
    return pool.with_name(f"{stem}.{model}.{condition}.qrels")


def note_path(path: Path) -> Path:
    """Return the JSON beside the judgements of ``path``: who made them, how, and how far people agree."""
    return path.with_name(f"{path.name}.json")


def check_replaceable(path: Path) -> None:
    """Raise :class:`DataError` unless ``path`` is absent, or a model's judgements that nobody has changed."""
    if not path.exists():
        return
    try:
        note = parse_json(read_text(note_path(path)))
        ours = JUDGE in note and note["sha256"] == digest(path)
    except (HeedError, ValueError, KeyError, TypeError):  # no note, or another file
        ours = False
    if not ours:
        raise DataError(
            f"{path}: is there already, and is not what a model judged, or was changed since; name another file"
        )


def write_judgements(path: Path, judged: Judged, note: dict[str, Any]) -> None:
    """Write the judgements and the note beside them; raises as :func:`check_replaceable` does."""
    check_replaceable(path)
    part = path.with_name(f".new.{path.name}")
    try:
        write_qrels(part, judged.grades)
        # a process killed between these leaves a note alone, or nothing, and is started again with the same result
        path.unlink(missing_ok=True)
        write_json(note_path(path), {**note, "sha256": digest(part)})
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def judged_as_data(judged: Judged) -> dict[str, Any]:
    """Return counts, refused answers and the cost of all questions, those of earlier runs too, as JSON data."""
    bill = judged.bill
    return {
        "counts": {
            "documents": bill.calls,
            "judged": bill.calls - len(judged.refused),
            "refused": len(judged.refused),
            "cut": judged.cut,
            "grades": {str(grade): count for grade, count in judged.counts.items()},
        },
        "refused": [{"qid": qid, "docid": docid, "answer": answer[:SHOWN]} for qid, docid, answer in judged.refused],
        "cost": {
            "requests": bill.calls,
            "input_tokens": bill.input,
            "output_tokens": bill.output,
            "dollars": bill.dollars,
            "counted_by": ESTIMATE,
        },
    }


def agreement_as_data(comparison: Comparison | None) -> dict[str, Any] | None:
    """Return the agreement as JSON data, None without one."""
    if comparison is None:
        return None
    return {
        "topics": comparison.topics,
        "documents": comparison.grades.n,
        "scale": comparison.scale,
        "grades": comparison.grades._asdict(),
        "relevance": comparison.relevance._asdict(),
        "systems": {name: order._asdict() for name, order in comparison.orders.items()},
    }


def as_text(name: str, judged: Judged, comparison: Comparison | None) -> str:
    """Return the report that is printed."""
    return "\n".join(_lines(name, judged, comparison))


def _lines(name: str, judged: Judged, comparison: Comparison | None) -> Iterator[str]:
    counts = ", ".join(f"{count} of grade {grade}" for grade, count in judged.counts.items())
    count = judged.bill.calls
    yield f"{name}: {count - len(judged.refused)} of {count} documents judged, {len(judged.grades)} topics: {counts}"
    if comparison is None:
        return
    yield f"\nagreement with people over {comparison.grades.n} documents of {comparison.topics} topics"
    yield f"grades: {comparison.grades.line()}"
    yield f"above 0 or not: {comparison.relevance.line()}"
    yield "\npeople's grades (rows) by the model's (columns)"
    scale = list(map(str, comparison.scale))
    matrix = zip(scale, comparison.grades.matrix, strict=True)
    yield aligned([["", *scale], *([grade, *map(str, row)] for grade, row in matrix)], left=1)
    yield from _orders(comparison)


def _orders(comparison: Comparison) -> Iterator[str]:
    for measure, order in comparison.orders.items():
        tau = "" if order.tau is None else f", Kendall's tau {order.tau:.3f}"
        yield f"\n{measure} ×100 of the systems by people and by the model{tau}"
        by_people = sorted(order.human, key=lambda run: (-order.human[run], run))
        rows = [[run, f"{100 * order.human[run]:.1f}", f"{100 * order.model[run]:.1f}"] for run in by_people]
        yield aligned([["run", "people", "model"], *rows], left=1)
