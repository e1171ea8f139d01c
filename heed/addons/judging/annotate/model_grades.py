"""A model's grades, as judgements that stand beside people's on the agreement page and count for nothing else."""

from collections.abc import Sequence
from pathlib import Path

from heed.addons.judging.annotate.store import Judgement
from heed.addons.judging.annotate.task import Task
from heed.errors import UsageError, fail
from heed.files import parse_json, read_text
from heed.formats.judgements import read_judgements


def read_model_grades(texts: Sequence[str], task: Task) -> list[Judgement]:
    """Return the grades of pooled documents that are judged, from texts ``NAME=QRELS``, by ``NAME (model)``.

    They are under the condition in the JSON of ``heed judge`` beside the file, else under the original one; their
    wording is left open. Raises :class:`UsageError` for another text, and :class:`DataError` for grades of another
    scale than the task's.
    """
    judgements = []
    for text in texts:
        name, equals, place = text.partition("=")
        if not (name and equals and place):
            raise UsageError(f"model_grades: found {text!r}, expected NAME=QRELS, as gpt-4o=pool.gpt-4o.original.qrels")
        path = Path(place)
        note = path.with_name(f"{path.name}.json")
        is_changed = note.exists() and parse_json(read_text(note)).get("condition") == "changed"
        judgements += [
            Judgement(f"{name} (model)", qid, "changed" if is_changed else "original", docid, grade, "", "")
            for qid, by_docid in read_judgements(path).items()
            for docid, grade in by_docid.items()
            if grade >= 0 and docid in task.pool.get(qid, ())
        ]
    scale = ",".join(map(str, task.grades()))
    fail(
        f"{name}, topic {qid}, document {docid}: grade {grade}, expected {scale}; try heed judge --grades {scale}"
        for name, qid, _, docid, grade, *_ in judgements
        if grade not in task.grades()
    )
    return judgements
