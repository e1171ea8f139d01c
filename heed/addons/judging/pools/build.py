"""From runs to a pool: their lists by topic, which documents may be judged, which are, and in which order."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from heed.addons.judging.pools.selection import (
    ALL,
    Candidates,
    Sample,
    Stratum,
    TopicPool,
    cut,
    draw_sample,
    order_documents,
    spend_by_language,
)
from heed.errors import DataError, UsageError, fail
from heed.files import unpacked_name
from heed.formats.document_store import read_docids
from heed.formats.judgements import read_judgements
from heed.formats.run_formats import read_any_run
from heed.formats.topic_ids import number_hint, stem
from heed.formats.trec_files import Pool
from heed.measures.comparison import warn_of_same_runs
from heed.measures.per_topic import judged as without_negative
from heed.progress import bar, brief, log, number_of, warn
from heed.ranking import Fused, fuse, in_order, ranked
from heed.types import CONDITIONS, Qrels, Run


class RunList(NamedTuple):
    """A run's documents for a qid, best first; ``language`` is empty unless lists are split by language."""

    run: str
    qid: str
    language: str
    docids: list[str]


def read_runs(paths: Sequence[Path], subset: str | None = None, encoding: str | None = None) -> dict[str, Run]:
    """Read the runs by name, sorted by it, so that the order of ``paths`` never matters.

    ``subset`` is a subset of MTEB predictions. Warns of two runs with the same lists: a copy counts twice in the
    fusion and has no unique documents.
    """
    files = run_names(paths)
    runs = {name: read_any_run(files[name], subset, encoding) for name in sorted(files)}
    warn_of_same_runs(runs)
    return runs


def run_names(paths: Sequence[Path]) -> dict[str, Path]:
    """Return ``name -> path``: the file's name without ``.gz`` and ``.run``, after as many folders as make it unique.

    Raises :class:`UsageError` for a file that is given twice and for names that no folder makes unique.
    """
    files = Counter(path.resolve() for path in paths)
    fail(
        [f"{path}: the same file is given {times} times; give it once" for path, times in files.items() if times > 1],
        UsageError,
    )
    names = {path: _names(path) for path in paths}
    counts = Counter(name for of_path in names.values() for name in of_path)
    clashing = [str(path) for path, of_path in names.items() if counts[of_path[-1]] > 1]
    fail(
        [f"{' and '.join(sorted(clashing))}: would have one name with another; rename one"] if clashing else [],
        UsageError,
    )
    return {next(name for name in of_path if counts[name] == 1): path for path, of_path in names.items()}


def _names(path: Path) -> list[str]:
    """Return the file's name without suffixes, after none of its folders, after the last one, and so on to all."""
    *folders, file = path.absolute().parts
    name = unpacked_name(Path(file)).removesuffix(".run")
    return ["/".join([*folders[start:], name]) for start in range(len(folders), -1, -1)]


def system_of(name: str) -> str:
    """Return the system of a run that is called ``<system>.<condition>``; of any other run, its name."""
    system, _, condition = name.rpartition(".")
    return system if system and condition in CONDITIONS else name


def base_topics(qids: Collection[str]) -> dict[str, str]:
    """Return ``qid -> base topic``, by the rules by which runs are paired.

    The base is the id without a trailing ``-og``, ``-changed`` or ``-reversed``. Without such an
    ending it is the part before the last ``_``, if that is one of ``qids`` itself or at least two of
    them share it; an id that is the base of others is its own.
    """
    known = set(qids)
    fronts = Counter(qid.rpartition("_")[0] for qid in known if stem(qid) == qid)
    bases = {front for front, times in fronts.items() if front and (front in known or times > 1)}
    base_of = {}
    for qid in qids:
        front = qid.rpartition("_")[0]
        by_number = stem(qid) == qid and qid not in bases and front in bases
        base_of[qid] = front if by_number else stem(qid)
    return base_of


def ranked_lists(
    runs: Mapping[str, Run], base_of: Mapping[str, str], languages: Mapping[str, str]
) -> dict[str, list[RunList]]:
    """Return ``topic -> its lists``: those of every run, for every qid that ``base_of`` maps to the topic.

    With ``languages`` (by docid) a list is split by language, each part ranked separately, as NeuCLIR
    pools its multilingual runs (guidelines 2023).
    """
    lists: dict[str, list[RunList]] = {}
    for name, run in sorted(runs.items()):
        for qid in sorted(qid for qid in run if qid in base_of):
            lists.setdefault(base_of[qid], []).extend(
                RunList(name, qid, language, ranked(scores))
                for language, scores in _by_language(run[qid], languages).items()
            )
    return {topic: lists[topic] for topic in in_order(lists)}


def first_documents(topics: Mapping[str, Sequence[RunList]], depth: int) -> dict[str, list[RunList]]:
    """Return the lists, each cut to its first ``depth`` documents."""
    return {
        topic: [ranking._replace(docids=ranking.docids[:depth]) for ranking in lists] for topic, lists in topics.items()
    }


def _by_language(scores: dict[str, float], languages: Mapping[str, str]) -> dict[str, dict[str, float]]:
    if not languages:
        return {"": scores}
    parts: dict[str, dict[str, float]] = {}
    for docid, score in scores.items():
        parts.setdefault(languages[docid], {})[docid] = score
    return dict(sorted(parts.items()))


def read_judged(field: str, files: Sequence[Path | None], encoding: str | None = None) -> Qrels:
    """Read the judgements of all ``files``; a document judged in several keeps its highest grade.

    A negative grade is trec_eval's mark of a document that is pooled and not judged: it is no judgement.
    ``field`` is what they are called in messages. Raises :class:`DataError` if nothing is judged.
    """
    paths = [path for path in files if path]
    merged = merge_qrels(without_negative(read_judgements(path, None, encoding)) for path in paths)
    if paths and not any(merged.values()):
        raise DataError(f"{field}: {paths[0]}: every grade is negative, so nothing is judged; give judgements")
    return merged


def merge_qrels(several: Iterable[Qrels]) -> Qrels:
    """Return all judgements of ``several``; a document that is judged more than once keeps its highest grade."""
    merged: Qrels = {}
    for qrels in several:
        for qid, grades in qrels.items():
            highest = merged.setdefault(qid, {})
            for docid, grade in grades.items():
                highest[docid] = max(grade, highest.get(docid, grade))
    return merged


def check_topics(field: str, judged: Qrels, topics: Collection[str], base_of: Mapping[str, str]) -> None:
    """Log judged topics that are not among the pool's ``topics``; raise :class:`DataError` if none is."""
    unknown = sorted(qid for qid in judged if base_of.get(qid, qid) not in topics)
    hint = number_hint(unknown, topics)
    if judged and len(unknown) == len(judged):
        raise DataError(
            f"{field}: none of its topics ({brief(unknown)}) is pooled ({brief(list(topics))} are); "
            f"the ids must be the same, or by_base=True pool the narratives of a query together{hint}"
        )
    if unknown:
        log.info(f"{field}: {len(unknown)} of {len(judged)} judged topics are not pooled: {brief(unknown)}{hint}")


def fully_judged(judged: Qrels, narratives: Mapping[str, Collection[str]]) -> dict[str, set[str]]:
    """Return ``topic -> documents that need no further judgement``.

    ``narratives`` holds the qids of each topic's runs. A document needs none when it is judged under
    every one of them, or under the topic's own id where that is none of them.
    """
    documents = {}
    for topic, qids in narratives.items():
        by_narrative = [judged.get(qid, {}).keys() for qid in qids]
        under_all = set(by_narrative[0]).intersection(*by_narrative[1:]) if by_narrative else set()
        under_topic = judged.get(topic, {}).keys() if topic not in qids else set()
        documents[topic] = under_all | under_topic
    return documents


def qrels_by_topic(judged: Qrels, base_of: Mapping[str, str]) -> Qrels:
    """Return the judgements under the pool's topics; a document of several narratives keeps its highest grade."""
    return merge_qrels({base_of.get(qid, qid): grades} for qid, grades in judged.items())


def relevant_documents(judged: Qrels) -> dict[str, set[str]]:
    """Return ``topic -> documents with a grade above 0``, for the topics that have any."""
    relevant = {topic: {docid for docid, grade in grades.items() if grade > 0} for topic, grades in judged.items()}
    return {topic: docids for topic, docids in relevant.items() if docids}


def document_languages(files: Sequence[tuple[str, Path]], docids: Collection[str]) -> dict[str, str]:
    """Return the language of each of ``docids`` by ``files``, pairs of a language and a path.

    A path is read by :func:`~heed.formats.document_store.read_docids`. Raises :class:`DataError` for documents that are
    in no file or in those of two languages, and for bad lines.
    """
    docids = set(docids)
    languages: dict[str, str] = {}
    clashes: dict[str, str] = {}
    for language, path in files:
        for docid in bar(read_docids(path), 0, language, "ids"):
            if docid not in docids:
                continue
            if languages.setdefault(docid, language) != language:
                clashes[docid] = f"document {docid}: in the files of {languages[docid]} and of {language}; keep one"
    fail(clashes.values())
    missing = sorted(docids - languages.keys())
    if missing:
        raise DataError(
            f"language: {len(missing)} of {len(docids)} documents of the runs are in none of the files: "
            f"{brief(missing)}; add the file that holds them"
        )
    return languages


DEPTH = 100  # of each list; TREC's classic pools (Voorhees and Harman, TREC-8 overview, 1999)


@dataclass(frozen=True)
class PoolSettings:
    """How a pool is built; ``sizes`` are by topic and ``budgets`` by language, with the key ``""`` for all."""

    depth: int = DEPTH
    order: str = "hidden"
    seed: int = 0
    by_base: bool = False
    topics: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    budgets: Mapping[str, int] = field(default_factory=dict)
    strata: tuple[Stratum, ...] = ()


class PoolQrels(NamedTuple):
    """Judgements that shape a pool: documents to leave out, the only ones to take, those that guide the order."""

    excluded: Qrels
    only: Qrels
    judged: Qrels


class PoolInputs(NamedTuple):
    """The whole lists by topic of the pool, and what is known under these topics.

    ``base_of`` has the topic of every qid, ``judged`` the documents that need no judgement, ``only`` those to
    take if it is not empty, ``grades`` what guides the order. ``languages`` are the documents' languages, if given.
    """

    topics: dict[str, list[RunList]]
    base_of: dict[str, str]
    judged: dict[str, set[str]]
    only: dict[str, set[str]]
    grades: Qrels
    languages: Mapping[str, str]


class BuiltPool(NamedTuple):
    """A pool, the settings that it was built by, and its sample, if it is one."""

    documents: Pool
    settings: PoolSettings
    sample: Sample


def poolable(runs: Mapping[str, Run], only: Qrels) -> set[str]:
    """Return every document of ``runs``, and the relevant ones of ``only``."""
    docids = {docid for run in runs.values() for scores in run.values() for docid in scores}
    return docids.union(*relevant_documents(only).values())


def pool_inputs(
    runs: Mapping[str, Run],
    qrels: PoolQrels,
    settings: PoolSettings,
    further_qids: Collection[str],
    languages: Mapping[str, str],
) -> PoolInputs:
    """Return runs and judgements under the topics of the pool.

    ``further_qids`` are other qids whose topics are needed later. Warns of topics that only some runs have. Raises
    :class:`DataError` for judgements of none of the runs' topics and :class:`UsageError` for requested topics that
    are in no run.
    """
    in_runs = {qid for run in runs.values() for qid in run}
    base_of = _bases(in_runs, in_runs.union(further_qids, *qrels), settings.by_base)
    _warn_of_missing_topics(runs, base_of)
    topics = ranked_lists(runs, {qid: base_of[qid] for qid in in_runs}, languages)
    only = relevant_documents(qrels_by_topic(qrels.only, base_of))
    if qrels.only:
        topics = _topics_of_relevant(topics, only)
    topics = _selected(topics, settings.topics)
    check_topics("exclude_judged", qrels.excluded, topics, base_of)
    check_topics("judged", qrels.judged, topics, base_of)
    judged = _judged(topics, qrels, base_of)
    return PoolInputs(topics, base_of, judged, only, qrels_by_topic(qrels.judged, base_of), languages)


def _bases(in_runs: set[str], qids: set[str], by_base: bool) -> dict[str, str]:
    if not by_base:
        if len({stem(qid) for qid in in_runs}) < len(in_runs):
            log.info("some topics are narratives of one query, by their ids; by_base=True makes one pool of each query")
        return {qid: qid for qid in qids}
    base_of = base_topics(qids)
    log.info(f"by base: {len(in_runs)} topics make {len({base_of[qid] for qid in in_runs})} pools")
    return base_of


def _topics_of_relevant(topics: Mapping[str, list[RunList]], only: Mapping[str, set[str]]) -> dict[str, list[RunList]]:
    """Return the topics with relevant documents; runs may have others, or none of them."""
    if topics:
        check_topics("only_relevant", {topic: {} for topic in only}, topics, {})
        without = [topic for topic in topics if topic not in only]
        if without:
            topics_without = number_of(len(without), "topic")
            log.info(f"only_relevant: {topics_without} of the runs without a relevant document: {brief(without)}")
    return {topic: topics.get(topic, []) for topic in in_order(only)}


def _selected(topics: dict[str, list[RunList]], chosen: Collection[str]) -> dict[str, list[RunList]]:
    unknown = [topic for topic in chosen if topic not in topics]
    fail([f"topic: {topic} is not pooled; expected one of {brief(list(topics))}" for topic in unknown], UsageError)
    return {topic: lists for topic, lists in topics.items() if topic in chosen or not chosen}


def _judged(topics: Mapping[str, list[RunList]], qrels: PoolQrels, base_of: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the documents that need no judgement; where relevant ones are judged again, all judged so far."""
    judged = merge_qrels([qrels.excluded, qrels.judged])
    if qrels.only:
        by_topic = qrels_by_topic(judged, base_of)
        return {topic: set(by_topic.get(topic, {})) for topic in topics}
    return fully_judged(judged, {topic: {ranking.qid for ranking in lists} for topic, lists in topics.items()})


def build_pool(inputs: PoolInputs, settings: PoolSettings) -> BuiltPool:
    """Return the pool that ``settings`` describe; topics without a document to judge are logged and left out.

    Documents that are judged are removed after ranking, so that the lists are read as deep as without them. Raises
    :class:`UsageError` for sizes of unknown topics and :class:`DataError` for an empty pool.
    """
    unknown = [topic for topic in settings.sizes if topic not in (ALL, *inputs.topics)]
    fail([f"size: {topic} is not pooled" for topic in unknown], UsageError)
    inputs = inputs._replace(topics=first_documents(inputs.topics, settings.depth))
    fused = {topic: fuse(ranking.docids for ranking in lists) for topic, lists in inputs.topics.items()}
    _check_languages(fused, inputs, settings)
    documents, sample = choose(fused, inputs, settings)
    pool = {
        topic: _ordered(topic, chosen, fused[topic], inputs, settings) for topic, chosen in documents.items() if chosen
    }
    empty = [topic for topic in inputs.topics if topic not in pool]
    if not pool:
        raise DataError("the pool is empty: all documents of the runs are judged already")
    if empty:
        log.info(f"{number_of(len(empty), 'topic')} without a document left to judge, left out: {brief(empty)}")
    return BuiltPool(pool, settings, sample)


def _check_languages(fused: Candidates, inputs: PoolInputs, settings: PoolSettings) -> None:
    """Raise :class:`UsageError` for the budget of a language that no document is in."""
    budgeted = settings.budgets.keys() - {ALL}
    if not budgeted:
        return
    languages = {inputs.languages[docid] for documents in fused.values() for docid in documents}
    known, absent = ", ".join(sorted(languages)), sorted(budgeted - languages)
    fail([f"budget: no pooled document is in {language}; expected one of {known}" for language in absent], UsageError)


def choose(fused: Candidates, inputs: PoolInputs, settings: PoolSettings) -> tuple[Candidates, Sample]:
    """Return which of the ``fused`` documents ``settings`` take (:func:`build_pool`), and the sample, if it is one."""
    chosen = _unjudged(fused, inputs)
    sample = draw_sample(chosen, settings.strata, settings.seed) if settings.strata else {}
    if sample:
        chosen = {
            topic: {docid: chosen[topic][docid] for layer in layers for docid in layer.drawn}
            for topic, layers in sample.items()
        }
    return spend_by_language(cut(chosen, settings.sizes), settings.budgets, inputs.languages), sample


def _unjudged(fused: Candidates, inputs: PoolInputs) -> Candidates:
    """Return the documents to judge: those of the lists or, retrieved or not, the relevant ones, less the judged."""
    if inputs.only:
        missing = Fused(0, 0.0)
        fused = {
            topic: {docid: fused[topic].get(docid, missing) for docid in inputs.only[topic]} for topic in inputs.topics
        }
    if not any(inputs.judged.values()):
        return fused
    return {
        topic: {docid: value for docid, value in documents.items() if docid not in inputs.judged[topic]}
        for topic, documents in fused.items()
    }


def _ordered(
    topic: str, chosen: Mapping[str, Fused], fused: Mapping[str, Fused], inputs: PoolInputs, settings: PoolSettings
) -> list[str]:
    lists = [ranking.docids for ranking in inputs.topics[topic]]
    topic_pool = TopicPool(topic, chosen.keys(), fused, lists, inputs.grades.get(topic, {}))
    return order_documents(settings.order, topic_pool, settings.seed)


def _warn_of_missing_topics(runs: Mapping[str, Run], topic_of: Mapping[str, str]) -> None:
    """Warn of topics that only some of ``runs`` have; ``topic_of`` has the topic of each qid."""
    topics = {name: {topic_of.get(qid, qid) for qid in run} for name, run in runs.items()}
    union = in_order(set().union(*topics.values()))
    some = [topic for topic in union if not all(topic in of_run for of_run in topics.values())]
    if some:
        missing = {name: len(union) - len(of_run) for name, of_run in topics.items()}
        lacking = [f"{name} lacks {count}" for name, count in missing.items() if count]
        warn(f"{len(some)} of {len(union)} topics are in some runs only: {brief(some)}; {brief(lacking)}")
