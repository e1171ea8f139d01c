"""What each part of ``polarity`` adds: ``python -m benchmarks.polarity FOLDER… [--only LINE]``.

A folder is a FollowTable subset in one of its layouts, or holds ``docs.jsonl``, ``topics.jsonl``, ``original.qrels``
and ``changed.qrels``, as those in ``tests/data/development`` do; its name may be the language. A line is a system,
with one part left out or one number changed; its figures (×100) are the mean over topics and, in brackets, the 95 %
bootstrap interval. Of a FollowTable subset: nDCG@10 under ``original``, and IRS. Of another folder, where every
document is scored: nDCG@10 under ``original`` and ``changed``, IRS from the query alone to ``original`` (documents
judged not relevant are those to fall), p-MRR, and which share of the relevant documents ``changed`` leaves in the
first third and in the first 25/36 (100 of the embedded samples' 144). Last, the pairs of query and document a second.
The first line is BM25's over query and instruction.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from heed.datasets.tables import JOIN, read_followtable
from heed.errors import HeedError, fail
from heed.evaluation.significance import interval
from heed.io.document_store import DocumentStore, open_store
from heed.io.documents import Files
from heed.io.pairs import renamed
from heed.io.topic_files import read_topics
from heed.io.trec_files import read_qrels
from heed.languages import LANGUAGES, language
from heed.measures import PerTopic, irs, mean, no_longer_relevant, p_mrr, standard
from heed.pooling.fusion import pool
from heed.reranking.polarity import Polarity, Settings, settings_of
from heed.retrieval.bm25 import Bm25, Lucene
from heed.retrieval.bm25_index import Bm25Settings
from heed.retrieval.corpus import Corpus
from heed.tables.documents import Tables
from heed.types import Document, Qrels, Query, Reranker, Run, Topic, under

DEPTH = 1000
SYSTEMS: dict[str, dict[str, float]] = {
    "polarity": {},
    "neither like nor unlike": {"like": 0, "unlike": 0},
    "without like": {"like": 0},
    "without unlike": {"unlike": 0},
    "like 1, unlike 1": {"like": 1, "unlike": 1},
    "like 2, unlike 2": {"like": 2, "unlike": 2},
    "without asked": {"asked": 0},
    "without excluded and unlike": {"excluded": 0, "unlike": 0},
    "without bounds": {"bounds": 0},
    "bounds 2": {"bounds": 2},
    "examples 5": {"examples": 5},
    "examples 10": {"examples": 10},
    "examples 20": {"examples": 20},
    "excluded 1": {"excluded": 1},
    "excluded 2": {"excluded": 2},
    "excluded 3": {"excluded": 3},
    "excluded 4": {"excluded": 4},
    "floor 0.3": {"floor": 0.3},
    "floor 0.5": {"floor": 0.5},
    "no first hundred": {"first": 0},
}


SystemsOf = Callable[["Collection"], Mapping[str, Reranker]]


class Plain:
    """BM25 over query and instruction, as a :class:`heed.types.Reranker`."""

    name = "bm25"

    def __init__(self, bm25: Bm25) -> None:
        """Score by ``bm25``."""
        self._bm25 = bm25

    def score(self, query: Query, documents: Sequence[Document]) -> Sequence[float]:
        """Return the score of each document, 0 for one that is not found."""
        found = self._bm25.search([query], DEPTH)[query.qid]
        return [found.get(document.docid, 0.0) for document in documents]


class Scored(NamedTuple):
    """A system's measures by topic, and its speed."""

    measures: dict[str, PerTopic]
    pairs_a_second: float


class Collection:
    """Topics with their pools, documents and judgements."""

    def __init__(self, folder: Path, place: Path) -> None:
        """Index the documents of ``folder`` in ``place``."""
        self.name, self.tables = folder.name, not (folder / "docs.jsonl").exists()
        lang = self.name if self.name in LANGUAGES else "eng"
        if self.tables:
            read = read_followtable(folder)
            self.topics: Sequence[Topic] = under(read.topics, "original")
            self.qrels: dict[str, Qrels] = {"original": read.qrels["original"]}
            bases = {topic.qid: topic.base for topic in self.topics}
            old, new = renamed(read.qrels["query"], bases), read.qrels["original"]
            store = open_store(place / "store", Tables(read.tables, "raw", titles=False))
        else:
            self.topics = read_topics(folder / "topics.jsonl", lang, "title")
            self.qrels = {name: read_qrels(folder / f"{name}.qrels") for name in ("original", "changed")}
            old, new = self.qrels["original"], self.qrels["changed"]
            paths = [folder / "docs.jsonl"]
            store = open_store(place / "store", Tables(paths, "raw") if self.name == "tables" else Files(paths))
        self.plain_text = not store.tabular
        self.unwanted, self.size = no_longer_relevant(old, new), store.count
        self.bm25 = Bm25("bm25", Corpus(place, store, language(lang)), Bm25Settings(), Lucene(threads=2))
        self.bm25.load()
        self.pools = self._pools(store)

    def _pools(self, store: DocumentStore) -> dict[str, list[Document]]:
        """Return each topic's pool; of FollowTable the one that ``pipelines.tables --retriever bm25`` makes."""
        documents = {document.docid: document for document in store}
        if not self.tables:
            return {topic.qid: list(documents.values()) for topic in self.topics}
        bases = {topic.base: topic.query for topic in self.topics}
        plain = self.bm25.search([Query(base, query, query) for base, query in bases.items()], DEPTH)
        instructed = self.bm25.search([topic.under("original", JOIN) for topic in self.topics], DEPTH)
        by_base = {topic.qid: topic.base for topic in self.topics}
        pools = pool([plain, *({by_base[qid]: scores} for qid, scores in instructed.items())], DEPTH, DEPTH)
        return {qid: [documents[docid] for docid in pools[base]] for qid, base in by_base.items()}

    def polarity(self, changes: Mapping[str, float]) -> Polarity:
        """Return ``polarity`` with some numbers changed; of few texts the first 25/36 stand for the first hundred."""
        settings = settings_of(self.bm25)
        settings = settings._replace(first=min(settings.first, self.size * 25 // 36))
        return Polarity(self.bm25, Settings(**{**settings._asdict(), **changes}))

    def scored(self, system: Reranker) -> Scored:
        """Return the measures of a system."""
        start = time.perf_counter()
        conditions = ("query", "original") if self.tables else ("query", "original", "changed")
        runs = {condition: self._run(system, condition) for condition in conditions}
        pairs = len(conditions) * sum(map(len, self.pools.values()))
        return Scored(self._measures(runs), pairs / (time.perf_counter() - start))

    def _run(self, system: Reranker, condition: str) -> Run:
        run: Run = {}
        for topic in self.topics:
            documents = self.pools[topic.qid]
            query = topic.under("original", JOIN)
            if condition == "query":
                query = Query(topic.qid, topic.query, topic.query, "", topic.lang)
            elif condition == "changed":
                query = topic.under("changed")
            scores = system.score(query, documents)
            run[topic.qid] = {document.docid: score for document, score in zip(documents, scores, strict=True)}
        return run

    def _measures(self, runs: dict[str, Run]) -> dict[str, PerTopic]:
        measures = {
            f"nDCG@10 {name}": standard(runs[name], qrels, ["nDCG@10"])["nDCG@10"] for name, qrels in self.qrels.items()
        }
        if self.tables:
            return measures | {
                "IRS": irs(runs["query"], runs["original"], self.qrels["original"], self.unwanted, self.size)
            }
        judged = self.qrels["original"]
        wanted, ruled_out = _having(judged, 1), _having(judged, 0)
        return {
            **measures,
            "IRS": irs(runs["query"], runs["original"], wanted, ruled_out, self.size),
            "p-MRR": p_mrr(runs["original"], runs["changed"], self.unwanted),
            **standard(runs["changed"], self.qrels["changed"], [f"R@{self.size // 3}", f"R@{self.size * 25 // 36}"]),
        }


def _having(judged: Qrels, grade: int) -> dict[str, set[str]]:
    return {qid: {docid for docid, found in grades.items() if found == grade} for qid, grades in judged.items()}


def systems(collection: Collection) -> dict[str, Reranker]:
    """Return the systems by the names of their lines."""
    varied = {name: collection.polarity(changes) for name, changes in SYSTEMS.items()}
    return {"bm25": Plain(collection.bm25), **varied}


def measure(folders: Sequence[Path], systems_of: SystemsOf, only: Sequence[str]) -> None:
    """Print the figures of every system, or of those that ``only`` names, on every collection."""
    with tempfile.TemporaryDirectory() as place:
        for folder in folders:
            collection = Collection(folder, Path(place) / "-".join(folder.parts[-2:]))
            found = systems_of(collection)
            fail([f"--only {name!r}: expected one of {', '.join(found)}" for name in only if name not in found])
            for number, name in enumerate(only or found):
                measures, speed = collection.scored(found[name])
                if not number:
                    print(
                        f"\n{collection.name}: {len(collection.topics)} topics, {', '.join(measures)}, pairs a second"
                    )
                print(f"{name:<28}{'  '.join(map(_shown, measures.values()))}  {speed:,.0f}", flush=True)


def _shown(values: PerTopic) -> str:
    low, high = interval(list(values.values()))
    return f"{100 * mean(values):5.1f} [{100 * low:5.1f}, {100 * high:5.1f}]"


def main(program: str, systems_of: SystemsOf) -> None:
    """Measure the systems on the folders that the command line names."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}")
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--only", action="append", default=[], metavar="LINE", help="repeatable (default: all)")
    options = parser.parse_args()
    try:
        measure(options.folders, systems_of, options.only)
    except HeedError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main("benchmarks.polarity", systems)
