"""Collections of ir_datasets by id: documents, topics and judgements through its own readers."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from heed.errors import DataError, HeedError, UsageError
from heed.io.documents import Line
from heed.io.topics import query_text
from heed.types import Document, Qrels, Topic

CROSS = ("neuclir/", "hc4/")


class IrDataset:
    """The documents of an ir_datasets id as a :class:`heed.io.documents.Source`."""

    def __init__(self, dataset_id: str) -> None:
        """Look the id up; raises :class:`DataError` if ir_datasets does not know it or it has no documents."""
        self._id = dataset_id
        if not getattr(load(dataset_id), "has_docs", bool)():
            raise DataError(f"{dataset_id}: has no documents; expected an ir_datasets id that has, or files")

    def __str__(self) -> str:
        """Return the id as shown to the user."""
        return f"{self._id} (ir_datasets)"

    @property
    def recipe(self) -> dict[str, str]:
        """The id and the version of ir_datasets, which checks the files that it fetches."""
        return {"ir_datasets": self._id, "version": version("ir_datasets")}

    def lines(self) -> Iterator[Line]:
        """Yield every document with ir_datasets' own choice of text: its ``default_text``, title included."""
        with _data_errors(self._id):
            for number, record in enumerate(load(self._id).docs_iter(), 1):
                yield Line(Path(self._id), number, Document(record.doc_id, "", record.default_text()))


def load(dataset_id: str) -> Any:
    """Return the ir_datasets object for an id; raises :class:`DataError` for an unknown one."""
    import ir_datasets

    try:
        return ir_datasets.load(dataset_id)
    except KeyError as error:
        raise DataError(f"{dataset_id}: no such file, and not an id that ir_datasets knows") from error


def all_ids() -> list[str]:
    """Return the ids that ir_datasets lists; it knows further ones by pattern."""
    import ir_datasets

    return list(ir_datasets.registry)


def language_of(dataset_id: str) -> str:
    """Return the two-letter language of the documents, ``en`` where ir_datasets does not say."""
    with _data_errors(dataset_id):
        return load(dataset_id).docs_lang() or "en"


def read_queries(dataset_id: str, lang: str, fields: str) -> list[Topic]:
    """Return the topics, with their narratives as original instructions.

    ``fields`` chooses title, description or both where the topics have them; others are taken as
    they are. Raises :class:`DataError` for an id without topics, or with topics in another language
    than the documents, and for files that are missing or damaged.
    """
    if dataset_id.startswith(CROSS):
        raise UsageError(f"{dataset_id}: its topics come in several languages; use python -m pipelines.neuclir")
    dataset = load(dataset_id)
    if not dataset.has_queries():
        raise DataError(f"{dataset_id}: has no topics; name them with --topics")
    with _data_errors(dataset_id):
        _check_language(dataset, dataset_id)
        return [_topic(query, lang, fields) for query in dataset.queries_iter()]


def read_judgements(dataset_id: str) -> Qrels:
    """Return the judgements; raises :class:`DataError` for an id without any, and for missing or damaged files."""
    dataset = load(dataset_id)
    if not dataset.has_qrels():
        raise DataError(f"{dataset_id}: has no judgements; name them with --qrels")
    qrels: Qrels = {}
    with _data_errors(dataset_id):
        for judgement in dataset.qrels_iter():
            qrels.setdefault(judgement.query_id, {})[judgement.doc_id] = judgement.relevance
    return qrels


def _check_language(dataset: Any, dataset_id: str) -> None:
    queries, documents = dataset.queries_lang(), dataset.docs_lang()
    if queries and documents and queries != documents:
        raise DataError(
            f"{dataset_id}: topics in {queries!r} for documents in {documents!r}; give topics in the documents' "
            "language with --topics and --qrels"
        )


def _topic(query: Any, lang: str, fields: str) -> Topic:
    title, description = getattr(query, "title", None), getattr(query, "description", None)
    text = query_text(title, description, fields) or query.default_text()
    narrative = (getattr(query, "narrative", None) or "").strip()
    return Topic(query.query_id, lang, text.strip(), {"original": narrative} if narrative else {})


@contextmanager
def _data_errors(dataset_id: str) -> Iterator[None]:
    """Raise a :class:`DataError` for whatever ir_datasets raises for files that are missing or damaged."""
    try:
        yield
    except HeedError:
        raise
    except Exception as error:  # its readers raise whatever their formats make them
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"{dataset_id}: ir_datasets cannot read it ({reason}); python -m pipelines.fetch lists what can be fetched "
            "and says where to put what needs a licence"
        ) from error
