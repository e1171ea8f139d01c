"""A model's grades, as judgements that stand beside people's on the agreement page and count for nothing else."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from heed.addons.judging.annotate.store import Judgement
from heed.addons.judging.annotate.task import Task
from heed.addons.judging.exchange.judgements import note_path
from heed.errors import DataError, UsageError, fail
from heed.files import read_bytes
from heed.formats.judgements import read_judgements


class _JudgeNote(msgspec.Struct):
    """What is read of the JSON beside a model's judgements."""

    condition: str = ""


def read_model_grades(texts: Sequence[str], task: Task) -> list[Judgement]:
    """Return the grades of pooled documents that are judged, from texts ``NAME=QRELS``, by ``NAME (model)``.

    They are under the condition in the JSON of ``heed judge`` beside the file, else under the original one; their
    wording is left open. Raises :class:`UsageError` for another text, and :class:`DataError` for grades of another
    scale than the task's, and for a JSON beside the file that is no note of judgements.
    """
    judgements = []
    for text in texts:
        name, equals, place = text.partition("=")
        if not (name and equals and place):
            raise UsageError(f"model_grades: found {text!r}, expected NAME=QRELS, as gpt-4o=pool.gpt-4o.original.qrels")
        condition = _condition(Path(place))
        judgements += [
            Judgement(f"{name} (model)", qid, condition, docid, grade, "", "")
            for qid, by_docid in read_judgements(Path(place)).items()
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


def _condition(path: Path) -> str:
    """Return the condition of a model's judgements: changed if the note beside them says so, else the original one."""
    note = note_path(path)
    try:
        named = msgspec.json.decode(read_bytes(note), type=_JudgeNote).condition if note.exists() else ""
    except msgspec.DecodeError as error:
        raise DataError(f"{note}: not what heed judge writes beside grades ({error}); remove it") from error
    return "changed" if named == "changed" else "original"
