"""The files and ids that an annotation is made from: topics, documents and judgements of a pool, in any form."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from heed.addons.judging.annotate.task import Task, parse_scale
from heed.datasets import irds, sample_root
from heed.datasets.followir import is_mfollowir, read_mfollowir
from heed.datasets.irds import find_topics
from heed.errors import DataError, UsageError, fail
from heed.formats.data_sets import read_judgements
from heed.formats.pools import Pool
from heed.formats.topic_ids import number_hint
from heed.formats.topics import TopicTexts, read_neuclir_topics, read_topics, recognised
from heed.languages import LANGUAGES, language
from heed.progress import brief, log
from heed.types import Qrels, Topic

USUAL_SCALE = "0,1,2,3"
SAMPLES = ("neuclir-sample", "tables-sample")


@dataclass(frozen=True)
class Sources:
    """The files or ids that an annotation is made from; empty or None is not named.

    ``lang`` is the documents' language, ``query_lang`` native (the same) or eng; ``topics_format``, ``translation``
    and ``fields`` say how topics are read; ``grades`` is a text for :func:`.task.parse_scale`.
    ``add`` are other assessors' databases, ``names`` texts for :func:`.assessors.parse_names`,
    ``assign`` a file for :func:`heed.addons.judging.annotate.assessors.read_assigned`.
    """

    pool: Path
    topics: str = ""
    topics_format: str = ""
    docs: Sequence[str] = ()
    lang: str = ""
    encoding: str | None = None
    query_lang: str = "native"
    translation: str = ""
    fields: str = "title"
    qrels: Path | None = None
    grades: str = ""
    only_relevant: bool = False
    add: Sequence[Path] = ()
    names: Sequence[str] = ()
    assign: Path | None = None


def complete(sources: Sources, pool: Pool) -> Sources:
    """Return ``sources`` with language, topics and documents: those given, or of the sample that has the pool's topics.

    Raises :class:`UsageError` saying what to give if neither is there.
    """
    lang = language(sources.lang).code if sources.lang else ""
    if sources.topics:
        lang = lang or "eng"
        if not sources.docs and not is_mfollowir(Path(sources.topics), lang):
            raise UsageError("--topics without --docs: name the documents of the pool, files or an ir_datasets id")
        return replace(sources, lang=lang)
    if sources.docs:
        raise UsageError("--docs without --topics: name the topics of the pool, a file or an ir_datasets id")
    folder = sources.pool.resolve().parent.name  # runs/<collection>/<language>/pool.jsonl
    completed = _from_sample(sources, pool, lang or (folder if folder in LANGUAGES else "eng"))
    log.info(f"no --topics and --docs: this is the embedded sample, {completed.lang}")
    return completed


def _from_sample(sources: Sources, pool: Pool, lang: str) -> Sources:
    root = sample_root()
    for name in SAMPLES:
        topics = root / "topics" / name / f"{lang}.jsonl"
        if topics.exists() and pool.keys() <= {topic.qid for topic in read_topics(topics, lang, "title")}:
            folder = root / "documents" / name
            file = folder / f"{lang}.jsonl"
            qrels = root / "qrels" / name / "original.qrels" if sources.only_relevant else None
            docs = [str(file if file.exists() else folder)]
            return replace(sources, topics=str(topics), docs=docs, qrels=sources.qrels or qrels, lang=lang)
    raise UsageError(
        f"the pool's topics ({brief([*pool])}) are not those of an embedded sample in {lang}; name their file with "
        "--topics and their documents with --docs"
    )


def make_task(sources: Sources, pool: Pool) -> Task:
    """Return the pool with its topics and given judgements; ``sources`` are complete.

    Raises :class:`DataError` naming every topic of the pool that the topics file lacks, and :class:`UsageError` for
    ``only_relevant`` without judgements.
    """
    topics = topics_of_pool(sources, pool)
    if sources.only_relevant and not sources.qrels:
        raise UsageError("--only-relevant: name the judgements that say what is relevant with --qrels")
    qrels = judgements_of_pool(sources.qrels, sources.lang, pool, sources.encoding) if sources.qrels else {}
    scale = parse_scale(sources.grades or USUAL_SCALE)
    return Task(pool, topics, sources.lang, scale, qrels, sources.only_relevant)


def judgements_of_pool(path: Path, lang: str, pool: Pool, encoding: str | None = None) -> Qrels:
    """Return the judgements of the pool's topics; :class:`DataError` if there are none."""
    qrels = read_judgements(path, lang, encoding or lang)
    judged = {qid: qrels[qid] for qid in pool if qid in qrels}
    if not judged:
        raise DataError(f"{path}: no judgement of a topic of the pool ({brief([*pool])})")
    missing = [qid for qid in pool if qid not in judged]
    if missing:
        log.info(f"{path}: no judgement for {len(missing)} of the pool's {len(pool)} topics: {brief(missing)}")
    return judged


def topics_of_pool(sources: Sources, pool: Pool) -> dict[str, Topic]:
    """Return the pool's topics, and the bare queries that FollowTable's topics belong to.

    Raises :class:`DataError` naming every topic of the pool that is missing.
    """
    topics = {topic.qid: topic for topic in _read_topics(sources)}
    missing = [qid for qid in pool if qid not in topics]
    lacking = f"of the pool: not in {sources.topics}; give the topics that were pooled"
    fail(f"topic {qid} {lacking}{number_hint([qid], topics)}" for qid in missing)
    qids = {*pool, *(topics[qid].base for qid in pool)}
    return {qid: topic for qid, topic in topics.items() if qid in qids}


def _read_topics(sources: Sources) -> list[Topic]:
    path, known = Path(sources.topics), irds.parse_id(sources.topics)
    lang = "eng" if sources.query_lang == "eng" else sources.lang
    fields = TopicTexts(lang, sources.lang, sources.translation or "any", sources.fields)
    if known and not path.exists():
        return irds.judged(known.source, [known.part], fields)[0]
    if is_mfollowir(path, sources.lang):
        return read_mfollowir(path, sources.lang, lang).topics
    encoding = sources.encoding or lang
    if path.is_file() and (sources.topics_format or recognised(path, encoding)) == "neuclir":
        return read_neuclir_topics(path, fields, encoding)
    return find_topics(path, lang, sources.fields, sources.topics_format, encoding)


def corpus_of(sources: Sources) -> Sequence[str]:
    """Return the documents' paths or ids; without any, the documents that belong to mFollowIR's topics."""
    if sources.docs:
        return sources.docs
    return [str(path) for path in read_mfollowir(Path(sources.topics), sources.lang, sources.lang).corpus]
