"""What each part of ``polarity`` adds, and how its numbers were chosen: ``python -m benchmarks.polarity FOLDER…``.

A folder is a FollowTable subset in one of its layouts, or holds ``docs.jsonl[.gz]``, ``topics.jsonl``,
``original.qrels`` and ``changed.qrels``; its name may be the language. All folders are of texts, or all of tables.
Pools are BM25's, as the commands make them. A line is BM25, ``polarity``, or ``polarity`` with a part left out or a
number changed; its figures (×100) are means over topics, with the 95 % bootstrap interval, in both directions: of texts
nDCG@20 under ``original`` and ``changed`` and selectivity, of tables nDCG@10 under ``original`` and IRS.

With ``--encoder MODEL`` a line is an encoder beside polarity: alone, in ``polarity+MODEL`` by weight, reading query and
instruction (``both``) or the query, and in ``decompose:MODEL`` by weights; nDCG under ``query`` comes first.

The last line has the figures of topics left out: the topics are parted into folds, the same for every run, and each
fold is scored with the numbers that are best on the others, by ``nDCG original + nDCG changed + selectivity / 5``, or
``nDCG + IRS``, less twice what a collection's nDCG falls further than 1 below BM25's.
"""

import argparse
import itertools
import tempfile
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from benchmarks.decompose import Kept, Once
from heed.compute import READS, Compute
from heed.datasets.followtable import JOIN, read_followtable
from heed.errors import fail
from heed.formats.document_store import Corpus, DocumentStore, StoredDocuments, open_store
from heed.formats.documents import Files
from heed.formats.topic_ids import renamed
from heed.formats.topics import read_topics
from heed.formats.trec_files import read_qrels
from heed.languages import LANGUAGES, language
from heed.measures import PerTopic, irs, mean, no_longer_relevant, p_mrr, standard, still_relevant
from heed.measures.significance import interval
from heed.models.encoders import SentenceEncoder
from heed.models.registry.entries import Registry
from heed.ranking import pooled as pool
from heed.reranking.fusion import Fusion
from heed.reranking.polarity import TABLE_SETTINGS, TEXT_SETTINGS, Polarity, Weighting
from heed.reranking.similarity import Decompose, Similarity, Weights
from heed.retrieval.bm25.index import Bm25, Bm25Settings
from heed.tables.documents import Tables
from heed.types import Encoder, Qrels, Query, Reranker, Run, Topic, under

DEPTH = 1000
FOLDS = 13  # a topic of each collection of data/news
CHANGES: dict[str, dict[str, float]] = {
    "polarity": {},
    "without asked": {"asked_for": 0},
    "without excluded": {"excluded": 0},
    "without like": {"like": 0},
    "half of excluded": {"excluded": 0.5},
    "twice excluded": {"excluded": 2},
    "half of like": {"like": 0.5},
}  # factors
TEXT_GRID = {"asked_for": (0.4, 0.6, 0.8, 1), "excluded": (0.4, 0.6, 0.8, 1), "like": (0.5, 1), "examples": (10, 15)}
TABLE_GRID = {"asked_for": (0.8, 1, 1.2), "excluded": (2, 2.5, 3), "like": (1, 1.5), "examples": (10, 15)}
TERMS = {"terms": (20, 30)}
FUSION_WEIGHTS = (0.1, 0.2, 0.5, 1.0, 2.0)
DECOMPOSE_WEIGHTS = [Weights(*pair) for pair in ((0.5, 0.5), (1, 1), (2, 2), (5, 5))]
QUERY = "nDCG query"  # shown; no choice is made by it
Figures = dict[str, PerTopic]
Choice = TypeVar("Choice", bound=Hashable)


class Data(NamedTuple):
    """Topics of a collection, the judgements of each condition, those of IRS, and the store."""

    topics: Sequence[Topic]
    qrels: dict[str, Qrels]
    gone: dict[str, set[str]]
    kept: dict[str, set[str]]
    store: DocumentStore


def of_texts(folder: Path, place: Path) -> Data:
    """Return a collection of texts."""
    paths = [path for path in (folder / "docs.jsonl", folder / "docs.jsonl.gz") if path.exists()]
    fail([] if paths else [f"{folder}: no docs.jsonl or docs.jsonl.gz"])
    lang = folder.name if folder.name in LANGUAGES else "eng"
    qrels = {name: read_qrels(folder / f"{name}.qrels") for name in ("original", "changed")}
    changes = no_longer_relevant(*qrels.values()), still_relevant(*qrels.values())
    return Data(read_topics(folder / "topics.jsonl", lang, "title"), qrels, *changes, open_store(place, Files(paths)))


def of_tables(folder: Path, place: Path) -> Data:
    """Return a subset of FollowTable."""
    read = read_followtable(folder)
    bases = {topic.qid: topic.base for topic in under(read.topics, "original")}
    old, new = renamed(read.qrels["query"], bases), read.qrels["original"]
    store = open_store(place, Tables(read.tables, "raw", titles=False))
    return Data(under(read.topics, "original"), {"original": new}, no_longer_relevant(old, new), {}, store)


class Collection:
    """Topics with their pools and BM25's own runs."""

    def __init__(self, folder: Path, tables: bool, place: Path) -> None:
        """Index the documents of ``folder`` in ``place``."""
        self.name, self.tables = folder.name, tables
        self._data = (of_tables if tables else of_texts)(folder, place / "store")
        lang = language(folder.name if folder.name in LANGUAGES else "eng")
        self._corpus = Corpus(place, self._data.store, lang)
        self._bm25 = Bm25("bm25", self._corpus, Bm25Settings(), Compute(threads=2))
        self._bm25.load()
        self.qids = [topic.qid for topic in self._data.topics]
        conditions = ["query", *self._data.qrels]
        self._queries = {name: [self._query(topic, name) for topic in self._data.topics] for name in conditions}
        runs = {name: self._bm25.search(queries, DEPTH) for name, queries in self._queries.items()}
        bases = {topic.qid: topic.base or topic.qid for topic in self._data.topics}
        lists = {  # of topics that share a query, that of the query once
            (bases[qid], name if name == "query" else f"{name} {qid}"): run[qid]
            for name, run in runs.items()
            for qid in run
        }
        pools = pool([{base: scores} for (base, _), scores in lists.items()], DEPTH, DEPTH)
        self.pools = {qid: pools[base] for qid, base in bases.items()}
        self.bm25 = self._figures(runs)
        self.pairs_a_second = 0.0

    def scored(self, settings: Weighting) -> Figures:
        """Return the figures of ``polarity`` with ``settings``, and note how many pairs a second it scored."""
        return self._scored(Polarity(self._bm25, settings))

    def beside(self, encoder: Encoder) -> Iterator[tuple[str, Figures]]:
        """Yield the name and the figures of each way in which ``encoder`` stands beside polarity."""
        polarity, kept = Once(self._bm25), Kept(encoder)
        similarities = {reads: Similarity(kept, self._corpus, reads) for reads in READS}
        for reads, similarity in similarities.items():
            yield f"encoder, {reads}", self._scored(similarity)
        for reads, weight in itertools.product(READS, FUSION_WEIGHTS):
            yield f"fusion {weight:g}, {reads}", self._scored(Fusion(polarity, similarities[reads], weight))
        for weights in DECOMPOSE_WEIGHTS:
            yield f"decompose {weights.alpha:g} {weights.beta:g}", self._scored(Decompose(kept, weights, self._corpus))

    def _scored(self, system: Reranker) -> Figures:
        start = time.perf_counter()
        runs = {name: {query.qid: self._scores(system, query) for query in own} for name, own in self._queries.items()}
        self.pairs_a_second = sum(map(len, self.pools.values())) * len(runs) / (time.perf_counter() - start)
        return self._figures(runs)

    def _scores(self, system: Reranker, query: Query) -> dict[str, float]:
        docids = self.pools[query.qid]
        return dict(zip(docids, system.score(query, StoredDocuments(self._data.store, docids)), strict=True))

    def _query(self, topic: Topic, condition: str) -> Query:
        if condition == "query":
            return Query(topic.qid, topic.query, topic.query, "", topic.lang, condition)
        return topic.under(condition, JOIN)

    def _figures(self, runs: dict[str, Run]) -> Figures:
        qrels, gone, depth = self._data.qrels, self._data.gone, 10 if self.tables else 20
        found = {
            f"nDCG {name}": standard(runs[name], own, [f"nDCG@{depth}"])[f"nDCG@{depth}"] for name, own in qrels.items()
        }
        under_query = standard(runs["query"], qrels["original"], [f"nDCG@{depth}"])[f"nDCG@{depth}"]
        found = {QUERY: under_query, **found} if not self.tables else found
        if self.tables:
            values = irs(runs["query"], runs["original"], qrels["original"], gone, self._data.store.count)
            return {**found, "IRS": values}
        fell, stayed = (p_mrr(runs["original"], runs["changed"], docids) for docids in (gone, self._data.kept))
        return {**found, "selectivity": {qid: fell[qid] - stayed[qid] for qid in sorted(fell.keys() & stayed.keys())}}


def objective(found: Sequence[Figures], bm25: Sequence[Figures], qids: Sequence[set[str]]) -> float:
    """Return how good figures of collections are on some topics, in points above BM25's."""
    gains = [
        {name: 100 * (_mean(of[name], own) - _mean(base[name], own)) for name in of if name != QUERY}
        for of, base, own in zip(found, bm25, qids, strict=True)
    ]
    shares = [sum(gain[name] / (5 if name == "selectivity" else 1) for name in gain) for gain in gains]
    worst = min(gain[name] for gain in gains for name in gain if name.startswith("nDCG"))
    return sum(shares) / len(shares) + 2 * min(0.0, worst + 1)


def left_out(
    collections: Sequence[Collection], scored: Mapping[Choice, list[Figures]]
) -> tuple[list[Figures], list[Choice]]:
    """Return the figures of each fold's topics with the choice that is best on the others, and those choices."""
    bm25 = [collection.bm25 for collection in collections]
    chooser = np.random.default_rng(0)
    fold_of = [dict(zip(one.qids, chooser.permutation(len(one.qids)) % FOLDS, strict=True)) for one in collections]
    figures: list[Figures] = [{name: {} for name in one.bm25} for one in collections]
    chosen = []
    for fold in range(FOLDS):
        others = [{qid for qid, own in of.items() if own != fold} for of in fold_of]
        chosen.append(max(scored, key=lambda choice: objective(scored[choice], bm25, others)))
        for found, of, own in zip(figures, scored[chosen[-1]], fold_of, strict=True):
            for name, values in of.items():
                found[name].update((qid, value) for qid, value in values.items() if own[qid] == fold)
    return figures, chosen


def _mean(values: PerTopic, qids: set[str]) -> float:
    return mean({qid: value for qid, value in values.items() if qid in qids})


def show(name: str, figures: Sequence[Figures]) -> None:
    """Print a line: the mean over collections of each measure, then each collection's figures with intervals."""
    means = [100 * sum(mean(one[measure]) for one in figures) / len(figures) for measure in figures[0]]
    parts = [" ".join(f"{value:5.1f}" for value in means)]
    for one in figures:
        spans = [
            (100 * mean(values), *(100 * end for end in interval(list(values.values())))) for values in one.values()
        ]
        parts.append("  ".join(f"{value:5.1f} [{low:5.1f}, {high:5.1f}]" for value, low, high in spans))
    print(f"{name:<18}{'  |  '.join(parts)}", flush=True)


def beside_polarity(collections: Sequence[Collection], encoder: Encoder) -> None:
    """Print a line for each way in which ``encoder`` stands beside polarity, and of topics left out for each kind."""
    show("polarity", [collection.scored(TEXT_SETTINGS) for collection in collections])
    scored: dict[str, list[Figures]] = {}
    for lines in zip(*(collection.beside(encoder) for collection in collections), strict=True):
        scored[lines[0][0]] = [figures for _, figures in lines]
        show(lines[0][0], scored[lines[0][0]])
    for kind in ("fusion", "decompose"):
        show_left_out(collections, {name: of for name, of in scored.items() if name.startswith(kind)})


def show_left_out(collections: Sequence[Collection], scored: Mapping[Choice, list[Figures]]) -> None:
    """Print the figures of topics left out, and how often each choice was made for them."""
    figures, chosen = left_out(collections, scored)
    show("topics left out", figures)
    for choice in dict.fromkeys(chosen):
        print(f"  chosen {chosen.count(choice)} times of {FOLDS}: {choice}")


def main() -> None:
    """Measure the collections that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.polarity")
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--choose", action="store_true", help="score topics left out too, with numbers of the others")
    parser.add_argument("--encoder", metavar="MODEL", help="measure an encoder beside polarity")
    parser.add_argument("--dtype", default="float32", help="precision of the encoder")
    parser.add_argument("--place", type=Path, metavar="DIR", help="keep indexes and vectors there for the next time")
    options = parser.parse_args()
    tables = not (options.folders[0] / "topics.jsonl").exists()
    with nullcontext(options.place) if options.place else tempfile.TemporaryDirectory() as place:
        collections = [Collection(folder, tables, Path(place) / folder.name) for folder in options.folders]
        print(f"mean of {', '.join(collections[0].bm25)}, then {', '.join(one.name for one in collections)}")
        show("bm25", [collection.bm25 for collection in collections])
        shipped = TABLE_SETTINGS if tables else TEXT_SETTINGS
        if options.encoder:
            compute = Compute("cpu", dtype=options.dtype)
            beside_polarity(collections, SentenceEncoder(Registry().resolve(options.encoder, ()), compute))
            return
        for name, factors in CHANGES.items():
            changed = {field: getattr(shipped, field) * factor for field, factor in factors.items()}
            show(name, [collection.scored(shipped._replace(**changed)) for collection in collections])
        print("pairs a second:", ", ".join(f"{one.name} {one.pairs_a_second:,.0f}" for one in collections))
        if options.choose:
            choices = (TABLE_GRID if tables else TEXT_GRID) | TERMS
            grid = [
                Weighting(**dict(zip(choices, numbers, strict=True)))
                for numbers in itertools.product(*choices.values())
            ]
            show_left_out(collections, {numbers: [one.scored(numbers) for one in collections] for numbers in grid})


if __name__ == "__main__":
    main()
