"""What a pool is built from: runs and their lists by topic, judgements, the languages of documents and topics."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from heed.errors import DataError, UsageError, fail
from heed.files import unpacked_name
from heed.formats.data_sets import read_judgements
from heed.formats.document_store import read_docids
from heed.formats.pairs import stem
from heed.formats.run_formats import read_any_run
from heed.formats.topic_ids import number_hint
from heed.measures.comparison_warnings import warn_of_same_runs
from heed.measures.per_topic import judged as without_negative
from heed.progress import bar, brief, log
from heed.ranking import in_order, ranked
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
    files: dict[Path, list[Path]] = {}
    for path in paths:
        files.setdefault(path.resolve(), []).append(path)
    problems = [
        f"{same[0]}: the same file is given {len(same)} times ({', '.join(map(str, same))}); give it once"
        for same in files.values()
        if len(same) > 1
    ]
    fail(problems, UsageError)
    names = {path: _names(path) for path in paths}
    counts = Counter(name for of_path in names.values() for name in of_path)
    clashes: dict[str, list[str]] = {}
    for path, of_path in names.items():
        if counts[of_path[-1]] > 1:
            clashes.setdefault(of_path[-1], []).append(str(path))
    problems = [
        f"{' and '.join(sorted(same))}: both runs would be called {name.rpartition('/')[2]}; rename one"
        for name, same in clashes.items()
    ]
    fail(problems, UsageError)
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


def read_judged(option: str, files: Sequence[Path | None], encoding: str | None = None) -> Qrels:
    """Read the judgements of all ``files``; a document judged in several keeps its highest grade.

    A negative grade is trec_eval's mark of a document that is pooled and not judged: it is no judgement.
    ``option`` is the option that named the files. Raises :class:`DataError` if nothing is judged.
    """
    paths = [path for path in files if path]
    merged = merge_qrels(without_negative(read_judgements(path, None, encoding)) for path in paths)
    if paths and not any(merged.values()):
        raise DataError(f"{option} {paths[0]}: every grade is negative, so nothing is judged; give judgements")
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


def check_topics(option: str, judged: Qrels, topics: Collection[str], base_of: Mapping[str, str]) -> None:
    """Log judged topics that are not among the pool's ``topics``; raise :class:`DataError` if none is."""
    unknown = sorted(qid for qid in judged if base_of.get(qid, qid) not in topics)
    hint = number_hint(unknown, topics)
    if judged and len(unknown) == len(judged):
        raise DataError(
            f"{option}: none of its topics ({brief(unknown)}) is pooled ({brief(list(topics))} are); "
            f"the ids must be the same, or the narratives pooled by base{hint}"
        )
    if unknown:
        log.info(f"{option}: {len(unknown)} of {len(judged)} judged topics are not pooled: {brief(unknown)}{hint}")


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
