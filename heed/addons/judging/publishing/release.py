"""Write a judged collection as a folder that a stranger can use, and read it back."""

import gzip
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent

from heed.addons.judging.annotate.grades import agreement_line, json_line
from heed.addons.judging.annotate.task import CONDITIONS
from heed.addons.judging.exchange.exports import (
    SPLIT,
    listed_documents,
    mteb_configs,
    named_configs,
    new_folder,
    write_parquet,
)
from heed.addons.judging.pools.reusability import Judgements, reusable_text
from heed.addons.judging.publishing.annotation import AGREEMENT, GUIDELINES, JUDGEMENTS, Annotation, leaks, names_in
from heed.addons.judging.publishing.description import croissant, definition, readme
from heed.addons.judging.publishing.facts import Facts
from heed.addons.judging.publishing.records import (
    CORPUS,
    DEFINITION,
    READERS,
    TOPICS,
    Records,
    digest_of,
    read_by_heed,
    read_by_others,
    records_of,
)
from heed.datasets.collection import Collection
from heed.errors import DataError, UsageError, fail
from heed.extras import require
from heed.files import finished, parse_json, read_text, write_bytes, write_json, write_packed
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.topics import record_of
from heed.formats.trec_files import Pool, write_qrels
from heed.progress import brief, log, logging_only, number_of
from heed.ranking import in_order
from heed.reuse import digests
from heed.types import Run, Topic

DOCIDS, SUMS, README, CROISSANT = "docids.txt", "SHA256SUMS", "README.md", "croissant.json"


@dataclass(frozen=True)
class Release:
    """What is published.

    ``collection`` is judged under both narratives. ``pool`` has the documents that rerankers are given, by default the
    judged ones. With the ``runs`` that were pooled, and the ``teams`` of their systems, the README says whether the
    judgements suit another system. Without ``texts`` documents are named only; ``notes`` are the assessors'.
    """

    collection: Collection
    facts: Facts
    annotation: Annotation | None = None
    pool: Pool | None = None
    runs: Mapping[str, Run] = field(default_factory=dict)
    teams: Mapping[str, str] = field(default_factory=dict)
    texts: bool = True
    notes: bool = False


def publish(release: Release, out: Path) -> list[str]:
    """Write the release to the new folder ``out``, read it back, and return lines of what was written.

    The folder is there as a whole or not at all; one of the same version is replaced where its records are the same,
    and what a killed process left of ``out`` is removed. Raises :class:`UsageError` where judgements under one of the
    narratives are missing, and :class:`DataError` for judged documents that the collection lacks, for assessors' names
    and secrets in a file, and where Heed, ir_datasets or MTEB read other records than those written.
    """
    require("pyarrow", "the Parquet files of a release")
    release = _judged(release)
    if release.annotation:
        texts = {question: release.facts.text(question) for question in release.facts.answers}
        fail(names_in(texts, release.annotation.names, release.facts.listed("not names")))
    topics, qrels = release.collection.topics, release.collection.judging.qrels
    judged = {qid: sorted(grades) for qid, grades in qrels["original"].items()}
    records = records_of(topics, qrels, judged | (release.pool or {}))
    if not records.ruled_out:
        raise DataError("changed_qrels: no document that was relevant is graded 0, so nothing follows the change")
    with TemporaryDirectory() as place, new_folder(out) as part:
        with logging_only(log.name, logging.WARNING):
            store = open_store(Path(place, "documents"), release.collection.source)
        docids = dict.fromkeys(chain.from_iterable([*records.qrels.values(), *(records.candidates or {}).values()]))
        fail(
            f"document {docid}: judged or pooled, and not in the collection; give the documents it is from"
            for docid in store.missing(list(docids))
        )
        if release.texts:
            records = records._replace(documents=digest_of(document[:3] for document in store))
        _write(part, release, store, records)
        _check_version(out, part, release.facts.text("version"))
        if release.annotation:
            harmless = release.facts.listed("not names")
            fail(leaks(part, release.annotation.names, release.annotation.secrets, harmless))
        readers = _check_read(part, release, records)
    counts = {condition: sum(map(len, qrels[condition].values())) for condition in CONDITIONS}
    judgements = " and ".join(f"{count} {condition}" for condition, count in counts.items())
    number = number_of(len(topics), "topic")
    documents = number_of(store.count, "document")
    return [f"{out}: {number}, {judgements} judgements, {documents}; read back by {readers}"]


def _judged(release: Release) -> Release:
    """Return the release with judged topics alone, and changed narratives where they are judged under these."""
    original, changed = (release.collection.judging.qrels.get(condition) for condition in CONDITIONS)
    if not original or not changed:
        name = "changed_qrels" if original else "qrels"
        raise UsageError(f"{name}: found none, and a release has judgements under both narratives")
    of_runs = {qid for run in release.runs.values() for qid in run}
    if release.runs and of_runs.isdisjoint(original):
        raise DataError(
            f"runs: their topics ({brief(in_order(of_runs))}) are none of those that are judged "
            f"({brief(in_order(original))}); give the runs that were pooled"
        )
    known = {topic.qid: topic for topic in release.collection.topics}
    fail(
        f"topic {qid}: judged under the {name} narrative, and {why}; give those that belong together"
        for name, qrels in zip(CONDITIONS, (original, changed), strict=True)
        for qid in qrels
        if (why := _problem(known.get(qid), name, qid in original))
    )
    topics = [
        topic.instructed({name: topic.instructions[name].strip() for name in CONDITIONS[: 1 + (qid in changed)]})
        for qid, topic in known.items()
        if qid in original
    ]
    gaps = {
        "not judged and left out": known.keys() - original.keys(),
        "not judged under a changed narrative": original.keys() - changed.keys(),
    }
    for gap, qids in gaps.items():
        if qids:
            log.info(f"{number_of(len(qids), 'topic')} {gap}: {brief(in_order(qids))}")
    pool = release.pool and {qid: docids for qid, docids in release.pool.items() if qid in original}
    return replace(release, collection=replace(release.collection, topics=topics), pool=pool)


def _problem(topic: Topic | None, condition: str, is_original: bool) -> str:
    if topic is None:
        return "not among the topics"
    if condition not in topic.instructions:
        return "has none"
    return "" if is_original else "not under the original one"


def _write(part: Path, release: Release, store: DocumentStore, records: Records) -> None:
    topics, qrels = release.collection.topics, release.collection.judging.qrels
    write_packed(part / TOPICS, (json_line(record_of(topic)) for topic in topics))
    for condition in CONDITIONS:
        write_qrels(part / f"{condition}.qrels", qrels[condition])
        queries = (
            {"query_id": topic.qid, "text": topic.query, "instruction": topic.instructions[condition]}
            for topic in topics
            if condition in topic.instructions
        )
        write_packed(part / f"{condition}.queries.jsonl", map(json_line, queries))
    write_packed(part / "pairs.tsv", (f"{qid}-changed\t{qid}-og\n" for qid in in_order(qrels["changed"])))
    rows = mteb_configs(store, records.queries, records.candidates or {}, records.qrels)
    rows["qrel_diff"] = listed_documents(records.ruled_out or {})
    if release.texts:
        texts = (json_line({"_id": docid, "title": title, "text": text}) for docid, title, text, *_ in store)
        with finished(part / CORPUS) as stream, gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
            packed.writelines(map(str.encode, texts))
    else:
        del rows["corpus"]
        write_packed(part / DOCIDS, (f"{docid}\n" for docid in store.docids()))
    splits = {config: SPLIT if config == "default" else config for config in rows}  # mFollowIR's
    paths = {
        write_parquet(part / config, of_config, splits[config]): splits[config] for config, of_config in rows.items()
    }
    labels = release.annotation.labels() if release.annotation else {}
    write_bytes(part / DEFINITION, definition(labels).encode())
    if release.annotation and release.annotation.guidelines:
        write_bytes(part / GUIDELINES, release.annotation.guidelines.encode())
    _describe(part, release, store, paths)
    write_packed(part / SUMS, (f"{sha256}  {name}\n" for name, sha256 in digests(part).items()))


def _check_version(out: Path, part: Path, version: str) -> None:
    """Raise :class:`DataError` where the release in ``out`` has the same version and other records than ``part``."""
    if not (out / CROISSANT).exists() or parse_json(read_text(out / CROISSANT))["version"] != version:
        return
    before, now = digests(out), digests(part)
    names = sorted({*before, *now} - {README, CROISSANT, SUMS})
    if differing := [name for name in names if before.get(name) != now.get(name)]:
        problem = f"version {version} is published there with other content of {brief(differing)}"
        raise DataError(f"{out}: {problem}; give the facts another version, or name another folder")


def _describe(part: Path, release: Release, store: DocumentStore, files: Mapping[str, str]) -> None:
    """Write who judged, the README, and Croissant; ``files`` are the paths of Parquet, with their splits."""
    from pyarrow.parquet import read_schema

    collection, lang = release.collection, release.collection.language
    # the names of mFollowIR beside FollowIR's, over the same files
    names = (
        (f"{Path(path).parent}{ending}", split, path)
        for path, split in files.items()
        for ending in ("", f"-{lang.code}")
    )
    number = number_of(store.count, "document")
    parts = {
        "agreement": "\n".join(_write_judgements(part, release, store)),
        "configs": named_configs(names),
        "corpus": f"{number}, in `{CORPUS}`" if release.texts else f"{number}, by their ids alone in `{DOCIDS}`",
        "docs": CORPUS if release.texts else "DOCUMENTS",
        "grades": _grades(release.annotation) if release.annotation else "",
        "reusable": indent(_reusable(release, store), "    "),
    }
    text = readme(release.facts, collection.topics, collection.judging.qrels, lang, parts)
    write_bytes(part / README, text.encode())
    columns = {path: read_schema(part / path).names for path in files}
    write_json(part / CROISSANT, croissant(release.facts, digests(part), columns))


def _grades(annotation: Annotation) -> str:
    """Return sentences for the README on labels, guidelines, and what became of documents on which assessors differ."""
    labels = ", ".join(f"{grade} {label}" for grade, label in annotation.labels().items())
    guidelines = f" The assessors' guidelines are in `{GUIDELINES}`." if annotation.guidelines else ""
    rule, count = annotation.agreement.get("rule"), annotation.agreement.get("decided_by_rule") or 0
    decided = f"have the grade by {rule} ({number_of(count, 'grade')})" if rule else "are left out"
    differing = f" Documents on which assessors differ and nobody decided {decided}."
    return f"{f' Grades: {labels}.' if labels else ''}{guidelines}{differing}"


def _write_judgements(part: Path, release: Release, store: DocumentStore) -> Iterator[str]:
    """Write who judged what, under other names, and yield a line of each two assessors' agreement."""
    if release.annotation:
        qids = {topic.qid for topic in release.collection.topics}
        public = release.annotation.public_judgements(qids, release.notes, store if release.texts else None)
        write_packed(part / JUDGEMENTS, map(json_line, public))
        agreement = release.annotation.public_agreement(public)
        write_json(part / AGREEMENT, agreement)
        yield from (f"- {agreement_line(pair)}" for pair in agreement["pairs"])


def _reusable(release: Release, store: DocumentStore) -> str:
    """Return as text whether the judgements suit another system, without IRS of other documents; empty without runs."""
    if not release.runs:
        return ""
    original, changed = (release.collection.judging.qrels[condition] for condition in CONDITIONS)
    docids = {docid for run in release.runs.values() for scores in run.values() for docid in scores}
    size = 0 if store.missing(sorted(docids)) else store.count
    pool = release.pool or {qid: list(grades) for qid, grades in original.items()}
    return reusable_text(release.runs, pool, Judgements(original, changed, size, release.teams))


def _check_read(part: Path, release: Release, records: Records) -> str:
    """Return who read the records that were written; :class:`DataError` where one reads others."""
    others = [name for name in READERS if release.texts or name != "mteb"]
    with logging_only(log.name, logging.ERROR):  # a topic without a changed narrative is as it should be
        read = read_by_heed(part) | read_by_others(part, release.collection.language.code, others)
    fail(
        f"{reader} reads other records than those written: {brief(list(differing))}; please report it"
        for reader, theirs in read.items()
        if (differing := list(records.differences(theirs)))
    )
    return ", ".join(read)
