"""Heed's systems as transformers of PyTerrier, and PyTerrier's transformers as systems of Heed.

Frames have PyTerrier's columns, and ``instruction`` beside ``query``; where it is absent or empty, a topic is asked
under the condition ``query``. Ties are ordered as everywhere in Heed, by docid descending: in the order of the rows,
and in ``rank``, which counts from 0 as in PyTerrier.

Java runs once in a process: PyTerrier's Terrier and Heed's BM25 share it after :func:`start_java`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from heed.compute import Compute
from heed.errors import DataError, JavaError, ModelError, UsageError, fail
from heed.experiment.runs import Run
from heed.languages import language
from heed.models.registry.entries import Registry
from heed.progress import brief
from heed.ranking import ranked
from heed.retrieval.lucene import jvm
from heed.systems.make import Place, make
from heed.systems.user_objects import check_name
from heed.types import JOIN, Config, Document, Encoder, Query, Reranker, Retriever, Topic

try:
    import pyterrier as pt
except ModuleNotFoundError as error:
    raise UsageError("heed.addons.bridges.pyterrier: needs PyTerrier; install it with pip install pyterrier") from error

if TYPE_CHECKING:
    import pandas as pd


def retriever(system: Retriever, depth: int = 1000, *, lang: str = "eng") -> "HeedRetriever":
    """Return a retriever, such as ``experiment.retriever("bm25")``, as a transformer from queries to results.

    ``lang`` is the queries' language (ISO 639-3 or 639-1); :class:`UsageError` for an unknown one.
    """
    return HeedRetriever(system, depth, language(lang).code)


def reranker(
    system: str | Reranker | Encoder, *, registry: Registry | None = None, device: str = "auto", lang: str = "eng"
) -> "HeedReranker":
    """Return a reranker as a transformer from results with ``text``, and ``title`` if there is one, to results.

    It gets a topic's documents in the order of the column ``rank``, else of ``score``. ``lang`` is the queries'
    language, in which ``polarity`` and ``decompose:`` read an instruction.

    ``system`` is an entry, a hub id, a path or an object; an encoder compares by its vectors. What needs an index
    of the documents, such as ``polarity``, is given as ``experiment.reranker("polarity")``.
    """
    place = Place(registry or Registry(), Compute(device))
    return HeedReranker(make(system, place, Reranker), language(lang).code)


def system(
    transformer: "pt.Transformer", name: str, *, joined: bool = True, config: Config | None = None
) -> "TransformerSystem":
    """Return a transformer or pipeline as a system of Heed, a retriever or a reranker.

    Most transformers read the columns ``query`` and ``text`` alone: ``joined``, these hold query and instruction,
    title and text. Else there are the columns ``query`` and ``instruction``, ``title`` and ``text``. ``config`` is
    JSON data that decides its scores, with which its runs are reused.
    """
    return TransformerSystem(transformer, name, joined, config)


def start_java(heap: str = jvm.HEAP) -> None:
    """Start the one Java of this process for PyTerrier and Heed, with ``heap``; before either has started it.

    PyTerrier fetches Terrier's jars from Maven where it does not have them. Raises :class:`JavaError` where Java
    runs already without those of both.
    """
    if not pt.java.started():
        if jvm.running():
            raise JavaError("Java runs already, without Terrier; call start_java before anything else uses Java")
        Compute(heap=heap).check()
        jvm.prepare()
        for path in jvm.classpath():
            pt.java.add_jar(path)  # type: ignore[no-untyped-call]
        for option in jvm.options(heap):
            pt.java.add_option(option)
        pt.java.init()
    jvm.start(heap)


class HeedRetriever(pt.Transformer):
    """A retriever of Heed: ``qid, query[, instruction]`` to ``…, docno, score, rank``."""

    def __init__(self, system: Retriever, depth: int, lang: str) -> None:
        self._system, self._depth, self._lang = system, depth, lang

    def __repr__(self) -> str:
        """Return its name and depth."""
        return f"HeedRetriever({self._system.name}, {self._depth})"

    def transform(self, inp: "pd.DataFrame") -> "pd.DataFrame":
        """Return the best documents of each query, best first; :class:`DataError` for a topic that comes twice."""
        pt.validate.query_frame(inp, extra_columns=["query"], context=self)
        fail(f"topic {qid}: comes twice in the frame; keep one" for qid in inp.qid[inp.qid.duplicated()].unique())
        self._system.load()
        queries = [_query(row, self._lang) for row in _records(inp)]
        run = self._system.search(queries, self._depth) if queries else {}
        earlier = inp.drop(columns=["docno", "score", "rank"], errors="ignore")
        return earlier.merge(Run(run).to_pandas("pyterrier"), on="qid")


class HeedReranker(pt.Transformer):
    """A reranker of Heed: ``qid, query[, instruction], docno, text[, title]`` to the same with ``score, rank``."""

    def __init__(self, system: Reranker, lang: str) -> None:
        self._system, self._lang = system, lang

    def __repr__(self) -> str:
        """Return its name."""
        return f"HeedReranker({self._system.name})"

    def transform(self, inp: "pd.DataFrame") -> "pd.DataFrame":
        """Return the documents of each topic, best first; :class:`DataError` for a document that comes twice."""
        pt.validate.result_frame(inp, extra_columns=["query", "text"], context=self)
        self._system.load()
        run: dict[str, Mapping[str, float]] = {}
        for group, rows in inp.groupby("qid", sort=False):
            qid, records = cast("str", group), _in_order(_records(rows))
            documents = [Document(row["docno"], _text(row, "title"), row["text"]) for row in records]
            scores = self._system.score(_query(records[0], self._lang), documents)
            run[qid] = dict(zip((document.docid for document in documents), scores, strict=True))
            if len(run[qid]) < len(documents):
                raise DataError(f"topic {qid}: a document comes twice in the frame; keep one")
        ranking = inp[["qid"]].drop_duplicates().merge(Run(run).to_pandas("pyterrier"), on="qid")
        return ranking.merge(inp.drop(columns=["score", "rank"], errors="ignore"), on=["qid", "docno"])


class TransformerSystem:
    """A transformer of PyTerrier, as a :class:`heed.types.Retriever` and a :class:`heed.types.Reranker`."""

    def __init__(self, transformer: "pt.Transformer", name: str, joined: bool, config: Config | None) -> None:
        """Run ``transformer`` under ``name``; :class:`UsageError` for a name that no run file can have."""
        check_name(name)
        self.name, self.config = name, None if config is None else {"pyterrier": config, "joined": joined}
        self._transformer, self._joined = transformer, joined

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """Return the documents that the transformer finds for each query."""
        rows = [self._query_row(query) for query in queries]
        return self._run(rows)

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return the transformer's score for each document; :class:`ModelError` where it leaves one out."""
        rows = [
            {
                **self._query_row(query),
                **self._document_row(document),
                "docno": document.docid,
                "score": 0.0,
                "rank": rank,
            }
            for rank, document in enumerate(documents)
        ]
        scores = self._run(rows).get(query.qid, {}) if rows else {}
        missing = [document.docid for document in documents if document.docid not in scores]
        if missing:
            raise ModelError(f"{self.name}: topic {query.qid}: no score for {brief(missing)}; a reranker drops none")
        return [scores[document.docid] for document in documents]

    def _run(self, rows: list[dict[str, Any]]) -> Run:
        import pandas as pd

        try:
            return Run.from_pandas(cast("pd.DataFrame", self._transformer(pd.DataFrame(rows))), self.name)
        except DataError as error:
            raise ModelError(f"{self.name}: {error}") from error

    def _query_row(self, query: Query) -> dict[str, Any]:
        if self._joined:
            return {"qid": query.qid, "query": query.text}
        return {"qid": query.qid, "query": query.query, "instruction": query.instruction}

    def _document_row(self, document: Document) -> dict[str, Any]:
        return {"text": document.contents()} if self._joined else {"title": document.title, "text": document.text}


def _records(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", frame.to_dict("records"))


def _in_order(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a topic's rows by rank, else by score: PyTerrier's operators leave them in any order."""
    if "rank" in records[0]:
        return sorted(records, key=lambda row: row["rank"])
    if "score" not in records[0]:
        return records
    order = {docid: rank for rank, docid in enumerate(ranked({row["docno"]: row["score"] for row in records}))}
    return sorted(records, key=lambda row: order[row["docno"]])


def _query(row: Mapping[str, Any], lang: str) -> Query:
    instruction = _text(row, "instruction")
    topic = Topic(row["qid"], lang, row["query"], {"original": instruction})
    return topic.under("original" if instruction else "query", JOIN)


def _text(row: Mapping[str, Any], column: str) -> str:
    """Return the text in a column, empty where there is none: absent, None or pandas' NaN."""
    value = row.get(column)
    return value if isinstance(value, str) else ""
