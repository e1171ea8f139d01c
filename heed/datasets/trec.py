"""Where a TREC-style collection, FollowIR's three and the sample lie, and what they are judged by."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from heed.collection import Collection
from heed.datasets.followir import BENCHMARKS, docno, read_followir
from heed.datasets.hub import snapshot
from heed.datasets.irds import IrDataset, language_of, load, read_judgements, read_queries
from heed.datasets.sample import sample_root
from heed.errors import HeedError
from heed.evaluation.evaluate import Judging
from heed.io.documents import Files, Source
from heed.io.topic_files import given_qrels, read_topics
from heed.io.topics import read_jsonl_topics
from heed.io.trec_files import read_qrels
from heed.languages import LANGUAGES, language
from heed.progress import log
from heed.types import ABLATIONS, Qrels, Topic

SAMPLE, FOLLOWIR = "neuclir-sample", "followir"


def find_trec(options: argparse.Namespace) -> list[Collection]:
    """The collections that the options of ``python -m pipelines.trec`` describe.

    Raises :class:`HeedError` for data that are not here, saying how to get them.
    """
    if options.benchmark:
        return [_benchmark(options, name) for name in benchmarks(options.benchmark)]
    if options.dataset:
        return [_dataset(options)]
    return [_own(options) if options.docs else _sample(options)]


def benchmarks(name: str) -> list[str]:
    """The members of ``followir``, or the one that ``followir/robust04`` names."""
    group, _, member = name.partition("/")
    if group != FOLLOWIR or (member and member not in BENCHMARKS):
        known = ", ".join(f"{FOLLOWIR}/{one}" for one in BENCHMARKS)
        raise HeedError(f"--benchmark {name}: not known; expected {FOLLOWIR}, or one of {known}")
    return [member] if member else list(BENCHMARKS)


def _benchmark(options: argparse.Namespace, member: str) -> Collection:
    read = read_followir(_folder(options, member))
    measures = tuple(dict.fromkeys((BENCHMARKS[member].measure, "AP", "nDCG@5", "R@1000")))
    source: Source = Files(read.corpus)
    qrels, candidates, subset = read.qrels, read.candidates, member
    if options.docs:  # the whole collection, as in FollowIR's table of full retrieval
        source, subset = _source(options), f"{member}-full"
        qrels = {name: {qid: _whole(grades) for qid, grades in found.items()} for name, found in read.qrels.items()}
        candidates = {qid: list(dict.fromkeys(map(docno, docids))) for qid, docids in candidates.items()}
    return Collection(
        name=FOLLOWIR,
        subset=subset,
        index=subset,
        language=language("eng"),
        source=source,
        topics=read.topics,
        judging=Judging(qrels=qrels, measures=measures),
        candidates=candidates,
        reranked=not options.docs,
    )


def _whole(grades: Mapping[str, int]) -> dict[str, int]:
    """Judgements of passages as those of their documents; the best one counts where there are several."""
    found: dict[str, int] = {}
    for docid, grade in grades.items():
        found[docno(docid)] = max(grade, found.get(docno(docid), grade))
    return found


def _folder(options: argparse.Namespace, name: str) -> Path:
    """A local copy of one benchmark; from the hub the older form where an ablation is asked for, which has it."""
    if options.data:
        inside: Path = options.data / name
        if not inside.is_dir() and options.benchmark == FOLLOWIR:
            raise HeedError(f"{inside}: no such folder; --benchmark {FOLLOWIR} wants one for each of its collections")
        return inside if inside.is_dir() else options.data
    benchmark = BENCHMARKS[name]
    if any(condition in ABLATIONS for condition in options.condition or ()):
        return snapshot(benchmark.older, benchmark.older_revision, ["*"])
    return snapshot(benchmark.repository, benchmark.revision, ["*"])


def _dataset(options: argparse.Namespace) -> Collection:
    code = _language(options)
    qrels = given_qrels(options)
    if "original" not in qrels:
        qrels["original"] = read_judgements(options.dataset)
    topics = _topics(options, code) if options.topics else read_queries(options.dataset, code, _fields(options))
    source = _source(options) if options.docs else IrDataset(options.dataset)
    name = options.dataset.replace("/", "-")
    return _collection(name, code, source, topics, qrels)


def _own(options: argparse.Namespace) -> Collection:
    if not options.topics:
        raise HeedError("--docs without --topics: name the topics, a TREC, JSONL or TSV file")
    return _collection(*given_files(options), given_qrels(options))


def given_files(options: argparse.Namespace) -> tuple[str, str, Source, list[Topic]]:
    """What --docs, --topics, --fields and --lang name: a name for it, the language, documents and topics."""
    first = Path(options.docs[0])
    name = (first.resolve().name.partition(".")[0] if first.exists() else options.docs[0].replace("/", "-")) or "docs"
    code = _language(options)
    return name, code, _source(options), _topics(options, code)


def _sample(options: argparse.Namespace) -> Collection:
    log.info("no collection named: this is the embedded sample, invented news in English for a first try")
    root = sample_root()
    topics = read_jsonl_topics(root / "topics" / SAMPLE / "eng.jsonl", "eng", _fields(options))
    qrels = {name: read_qrels(root / "qrels" / SAMPLE / f"{name}.qrels") for name in ("original", "changed")}
    return _collection(SAMPLE, "eng", Files([root / "documents" / SAMPLE / "eng.jsonl"]), topics, qrels)


def _collection(name: str, code: str, source: Source, topics: list[Topic], qrels: dict[str, Qrels]) -> Collection:
    return Collection(
        name=name,
        subset=code,
        index=code,
        language=language(code),
        source=source,
        topics=topics,
        judging=Judging(qrels),
    )


def _source(options: argparse.Namespace) -> Source:
    """The documents that --docs names: files and folders, or one ir_datasets id."""
    if len(options.docs) == 1 and not Path(options.docs[0]).exists():
        load(options.docs[0])
        return IrDataset(options.docs[0])
    return Files([Path(path) for path in options.docs])


def _topics(options: argparse.Namespace, code: str) -> list[Topic]:
    return read_topics(Path(options.topics), code, _fields(options), options.topics_format)


def _fields(options: argparse.Namespace) -> str:
    return options.fields or "title"


def _language(options: argparse.Namespace) -> str:
    """--lang, else the language that ir_datasets names, else English; one that Heed does not know is an error."""
    by_id = options.dataset or next((one for one in options.docs or () if not Path(one).exists()), None)
    if options.lang or not by_id:
        return language(options.lang or "eng").code
    short = language_of(by_id)
    found = next((one.code for one in LANGUAGES.values() if one.short == short), None)
    if found is None:
        raise HeedError(f"{by_id}: its language is {short!r}, expected one of {', '.join(LANGUAGES)}")
    return found
