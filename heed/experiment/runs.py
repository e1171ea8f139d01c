"""Runs and qrels for Python users: dictionaries with conversions to files, pandas and ranx."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from heed.errors import DataError, UsageError
from heed.formats.judgements import read_judgements
from heed.formats.topic_ids import numbered
from heed.formats.trec_files import as_tag, read_run, write_qrels, write_run
from heed.notebook import data_frame, html_table
from heed.ranking import in_order, ranked

if TYPE_CHECKING:
    import pandas as pd

# columns by the names of ir_measures and ir_datasets, PyTerrier, ranx
QID, DOCID = ("qid", "query_id", "q_id"), ("docid", "doc_id", "docno")
SCORE, GRADE = ("score",), ("grade", "relevance", "label", "rel", "score")
FRAMES = {  # the names that a library expects for topic, document and grade
    "heed": ("qid", "docid", "grade"),
    "ir_measures": ("query_id", "doc_id", "relevance"),
    "pyterrier": ("qid", "docno", "label"),
    "ranx": ("q_id", "doc_id", "score"),
}


class Run(dict[str, dict[str, float]]):
    """The scores of one system under one condition, ``qid -> docid -> score``; higher is better."""

    def __init__(self, scores: Mapping[str, Mapping[str, float]] = {}, tag: str = "run") -> None:
        """Hold ``scores``; ``tag`` is the last column of the run's file."""
        super().__init__(scores)  # type: ignore[arg-type]  # a mapping of mappings, read as one of dictionaries
        self.tag = as_tag(tag)

    def __repr__(self) -> str:
        """Return tag and size; the scores would fill a notebook."""
        return f"Run({self.tag!r}: {len(self)} topics, {sum(map(len, self.values())):,} documents)"

    def _repr_html_(self) -> str:
        lines = [(qid, len(self[qid]), *self.ranking(qid)[:1]) for qid in in_order(self)]
        return html_table(self.tag, [("topic", "documents", "first document"), *lines], numbers=(1,))

    @classmethod
    def read(cls, path: str | Path, topic_ids: str | None = None) -> Self:
        """Read a TREC run file; raises and warns as :func:`heed.formats.trec_files.read_run`."""
        with numbered(topic_ids):  # as load_files takes them
            return cls(read_run(Path(path), check_order=True), Path(path).name.partition(".")[0])

    def write(self, path: str | Path, tag: str | None = None) -> None:
        """Write a TREC run file: score descending, then docid descending, ranks from 1; gzipped by suffix."""
        write_run(Path(path), self, as_tag(tag) if tag else self.tag)

    def ranking(self, qid: str) -> list[str]:
        """Return the docids of a topic, best first."""
        return ranked(self[qid])

    def to_pandas(self, names: str = "heed") -> "pd.DataFrame":
        """Return a frame with the columns qid, docid, rank (from 1) and score, in the order of a run file.

        ``names`` is the library that reads it: ``heed``, ``ir_measures``, ``pyterrier`` (ranks from 0) or ``ranx``.
        """
        qid_name, docid_name, _ = _names(names)
        rows = [
            (qid, docid, rank, self[qid][docid])
            for qid in in_order(self)
            for rank, docid in enumerate(self.ranking(qid), 0 if names == "pyterrier" else 1)
        ]
        return _typed(data_frame(rows, [qid_name, docid_name, "rank", "score"]), names)

    @classmethod
    def from_pandas(cls, frame: "pd.DataFrame", tag: str = "run") -> Self:
        """Return the run of a frame with qid (query_id), docid (doc_id, docno) and score.

        Raises :class:`DataError` for a missing column, an id that is neither text nor a whole number, and a document
        that a topic lists twice.
        """
        return cls(_by_topic(frame, SCORE, float), tag)

    def to_ranx(self) -> Any:
        """Return a ``ranx.Run``; needs ranx."""
        from ranx import Run as RanxRun  # type: ignore[import-not-found,unused-ignore]

        return RanxRun(dict(self), name=self.tag)

    @classmethod
    def from_ranx(cls, run: Any) -> Self:
        """Return the run of a ``ranx.Run``."""
        return cls(run.to_dict(), run.name or "run")


class Qrels(dict[str, dict[str, int]]):
    """The judgements of one condition, ``qid -> docid -> grade``; relevant from 1."""

    def __init__(self, grades: Mapping[str, Mapping[str, int]] = {}) -> None:
        super().__init__(grades)  # type: ignore[arg-type]  # as of a run

    def __repr__(self) -> str:
        """Return the size; the judgements would fill a notebook."""
        return f"Qrels({len(self)} topics, {sum(map(len, self.values())):,} judgements)"

    @classmethod
    def read(cls, path: str | Path, language: str | None = None, topic_ids: str | None = None) -> Self:
        """Read qrels of any form; raises as :func:`heed.formats.judgements.read_judgements` does."""
        with numbered(topic_ids):
            return cls(read_judgements(Path(path), language))

    def write(self, path: str | Path) -> None:
        """Write TREC qrels; gzipped by suffix."""
        write_qrels(Path(path), self)

    def to_pandas(self, names: str = "heed") -> "pd.DataFrame":
        """Return a frame with the columns qid, docid and grade, or with the ``names`` of a library, as of a run."""
        rows = [(qid, docid, grade) for qid in in_order(self) for docid, grade in self[qid].items()]
        return _typed(data_frame(rows, _names(names)), names)

    @classmethod
    def from_pandas(cls, frame: "pd.DataFrame") -> Self:
        """Return the qrels of a frame with qid (query_id), docid (doc_id, docno) and grade (relevance, label, score).

        Raises :class:`DataError` as :meth:`Run.from_pandas` does.
        """
        return cls(_by_topic(frame, GRADE, int))

    def to_ranx(self) -> Any:
        """Return a ``ranx.Qrels``; needs ranx."""
        from ranx import Qrels as RanxQrels  # type: ignore[import-not-found,unused-ignore]

        return RanxQrels(dict(self))

    @classmethod
    def from_ranx(cls, qrels: Any) -> Self:
        """Return the qrels of a ``ranx.Qrels``."""
        return cls(qrels.to_dict())


def _names(library: str) -> tuple[str, str, str]:
    if library not in FRAMES:
        raise UsageError(f"names: found {library!r}, expected one of {', '.join(FRAMES)}")
    return FRAMES[library]


def _typed(frame: "pd.DataFrame", library: str) -> "pd.DataFrame":
    """Return the frame with ids as objects where the library wants them so: ranx refuses pandas' type of texts."""
    return frame.astype(dict.fromkeys(FRAMES[library][:2], object)) if library == "ranx" else frame


def _by_topic(frame: "pd.DataFrame", values: Sequence[str], kind: type) -> dict[str, dict[str, Any]]:
    qids, docids, numbers = (_column(frame, names) for names in (QID, DOCID, values))
    topics: dict[str, dict[str, Any]] = {}
    for row, (qid, docid, value) in enumerate(zip(qids, docids, numbers, strict=True)):
        topic = topics.setdefault(_identifier(qid, row), {})
        document = _identifier(docid, row)
        if document in topic:
            raise DataError(f"row {row}: document {document} is listed again for topic {qid}; keep one")
        if value != value or (kind is int and value != int(value)):
            raise DataError(f"row {row}: {values[0]} is {value!r}, expected a {'whole ' if kind is int else ''}number")
        topic[document] = kind(value)
    return topics


def _column(frame: "pd.DataFrame", names: Sequence[str]) -> list[Any]:
    column = next((name for name in names if name in frame.columns), None)
    if column is None:
        raise DataError(f"frame: no column {' or '.join(names)}; it has {', '.join(map(str, frame.columns))}")
    values: list[Any] = frame[column].tolist()
    return values


def _identifier(value: Any, row: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise DataError(f"row {row}: id {value!r}, expected a text; read ids with dtype=str, so that 007 and NA survive")
