"""What ``python -m pipelines.annotate`` is given, read: topics of any form, judgements, or the embedded sample."""

import argparse
import json
from pathlib import Path
from typing import NamedTuple

from heed.annotation.task import Task, parse_scale
from heed.datasets import neuclir_files as irds
from heed.datasets.irds import read_queries
from heed.datasets.mfollowir import is_mfollowir, read_mfollowir
from heed.datasets.sample import sample_root
from heed.errors import HeedError, fail
from heed.io.files import read_lines
from heed.io.neuclir_topics import Wanted, read_neuclir_topics
from heed.io.pools import Pool
from heed.io.topic_files import read_topics, recognised
from heed.io.trec_files import read_qrels
from heed.languages import LANGUAGES, language
from heed.progress import brief, log
from heed.types import Qrels, Topic

USUAL_SCALE = "0,1,2,3"
SAMPLES = ("neuclir-sample", "tables-sample")


class Sources(NamedTuple):
    """Where topics, documents and judgements are; ``lang`` is the documents' language."""

    topics: str
    docs: list[str]
    qrels: Path | None
    lang: str


def find_sources(options: argparse.Namespace, pooled: Pool) -> Sources:
    """The paths and ids that are given, or those of the sample whose topics the pool is of.

    Raises :class:`HeedError` saying what to give where neither is there.
    """
    lang = language(options.lang).code if options.lang else ""
    if options.topics:
        lang = lang or _told_language(options.topics) or "eng"
        if not options.docs and not is_mfollowir(Path(options.topics), lang):
            raise HeedError("--topics without --docs: name the documents of the pool, files or an ir_datasets id")
        return Sources(options.topics, options.docs or [], options.qrels, lang)
    if options.docs:
        raise HeedError("--docs without --topics: name the topics of the pool, a file or an ir_datasets id")
    folder = options.pool.resolve().parent.name  # runs/<collection>/<language>/pool.jsonl
    found = _sample(pooled, lang or (folder if folder in LANGUAGES else "eng"))
    log.info(f"no --topics and --docs: this is the embedded sample, {found.lang}")
    return found._replace(qrels=options.qrels or (found.qrels if options.only_relevant else None))


def _sample(pooled: Pool, lang: str) -> Sources:
    root = sample_root()
    for name in SAMPLES:
        topics = root / "topics" / name / f"{lang}.jsonl"
        if topics.exists() and pooled.keys() <= {topic.qid for topic in read_topics(topics, lang, "title")}:
            docs = root / "documents" / name
            here = docs / f"{lang}.jsonl"
            qrels = root / "qrels" / name / "original.qrels"
            return Sources(str(topics), [str(here if here.exists() else docs)], qrels, lang)
    raise HeedError(
        f"the pool's topics ({brief([*pooled])}) are not those of an embedded sample in {lang}; name their file with "
        "--topics and their documents with --docs"
    )


def _told_language(topics: str) -> str:
    """The language that the first line of a topics file in Heed's form names; empty where none does."""
    path = Path(topics)
    if not path.is_file() or recognised(path) != "heed":
        return ""
    record: dict[str, object] = next((json.loads(line) for _, line in read_lines(path) if line.strip()), {})
    told = record.get("lang")
    return told if isinstance(told, str) and told in LANGUAGES else ""


def make_task(options: argparse.Namespace, sources: Sources, pooled: Pool) -> Task:
    """The pool with its topics and given judgements.

    Raises :class:`HeedError` naming every topic of the pool that the topics file lacks, and for ``--only-relevant``
    without judgements.
    """
    topics = topics_of_pool(options, sources.topics, sources.lang, pooled)
    if options.only_relevant and not sources.qrels:
        raise HeedError("--only-relevant: name the judgements that say what is relevant with --qrels")
    given = read_given(sources.qrels, sources.lang, pooled) if sources.qrels else {}
    scale = parse_scale(options.grades or USUAL_SCALE)
    return Task(pooled, topics, sources.lang, scale, given, options.only_relevant)


def read_given(path: Path, lang: str, pooled: Pool) -> Qrels:
    """The judgements of the pool's topics; :class:`HeedError` if there is none."""
    qrels = read_qrels(path, only_language=lang)
    given = {qid: qrels[qid] for qid in pooled if qid in qrels}
    if not given:
        raise HeedError(f"{path}: no judgement of a topic of the pool ({brief([*pooled])})")
    lacking = [qid for qid in pooled if qid not in given]
    if lacking:
        log.info(f"{path}: no judgement for {len(lacking)} of the pool's {len(pooled)} topics: {brief(lacking)}")
    return given


def topics_of_pool(options: argparse.Namespace, where: str, lang: str, pooled: Pool) -> dict[str, Topic]:
    """The pool's topics out of ``where``, for documents in ``lang``.

    The bare query that a FollowTable topic belongs to comes along. Raises :class:`HeedError` naming every topic of the
    pool that is not there.
    """
    found = {topic.qid: topic for topic in _read_topics(options, where, lang)}
    lost = [qid for qid in pooled if qid not in found]
    fail(f"topic {qid} of the pool: not in {where}; give the topics that were pooled" for qid in lost)
    kept = {*pooled, *(found[qid].base for qid in pooled)}
    return {qid: topic for qid, topic in found.items() if qid in kept}


def _read_topics(options: argparse.Namespace, where: str, lang: str) -> list[Topic]:
    path, known = Path(where), irds.parse_id(where)
    asked = "eng" if options.query_lang == "eng" else lang
    wanted = Wanted(asked, lang, options.translation or "any", options.fields)
    if not path.exists() and known is None:
        return read_queries(where, asked, options.fields)
    if not path.exists() and known is not None:
        return irds.judged([irds.Part(known[0], known[2])], wanted)[0]
    if is_mfollowir(path, lang):
        return read_mfollowir(path, lang, asked).topics
    form = options.topics_format or recognised(path)
    if form == "neuclir":
        return read_neuclir_topics(path, wanted)
    return read_topics(path, asked, options.fields, form)


def corpus_of(sources: Sources) -> list[str]:
    """The documents' paths; those that come with mFollowIR's topics where none are named."""
    if sources.docs:
        return sources.docs
    return [str(path) for path in read_mfollowir(Path(sources.topics), sources.lang, sources.lang).corpus]
