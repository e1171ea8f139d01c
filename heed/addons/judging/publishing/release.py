"""Write a judged collection as a folder that a stranger can use, and read it back."""

import gzip
import json
import logging
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import indent
from typing import Any

from heed.addons.judging.exchange.exports import (
    SPLIT,
    listed_documents,
    mteb_configs,
    named_configs,
    new_folder,
    write_parquet,
)
from heed.addons.judging.pools.reusability import Judgements, reusable_text
from heed.addons.judging.publishing.annotation import (
    AGREEMENT,
    JUDGEMENTS,
    Annotation,
    agreement_lines,
    leaks,
)
from heed.addons.judging.publishing.description import croissant, readme
from heed.addons.judging.publishing.facts import Facts
from heed.addons.judging.publishing.records import (
    CONDITIONS,
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
from heed.files import finished, write_bytes, write_json
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.topic_ids import by_ending, stem
from heed.formats.topics import record_of
from heed.formats.trec_files import Pool, write_qrels
from heed.progress import brief, log, logging_only, number_of
from heed.reuse import digests
from heed.types import Run, Topic

DOCIDS, SUMS = "docids.txt", "SHA256SUMS"


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

    The folder is there as a whole or not at all. Raises :class:`UsageError` where judgements under one of the
    narratives are missing, and :class:`DataError` for judged documents that the collection lacks, for assessors' names
    and secrets in a file, and where Heed, ir_datasets or MTEB read other records than those written.
    """
    require("pyarrow", "the Parquet files of a release")
    release = _judged(release)
    topics, qrels = release.collection.topics, release.collection.judging.qrels
    judged = {qid: sorted(grades) for qid, grades in qrels["original"].items()}
    records = records_of(topics, qrels, judged | (release.pool or {}))
    if not records.ruled_out:
        raise DataError("changed_qrels: no document that was relevant is graded 0, so nothing follows the change")
    with TemporaryDirectory() as place, new_folder(out) as part:
        with logging_only(log.name, logging.WARNING):
            store = open_store(Path(place, "documents"), release.collection.source)
        _check_documents(store, records)
        if release.texts:
            records = records._replace(documents=digest_of(document[:3] for document in store))
        _write(part, release, store, records)
        _check_private(part, release)
        readers = _check_read(part, release, records)
    counts = {condition: sum(map(len, qrels[condition].values())) for condition in CONDITIONS}
    judgements = " and ".join(f"{count} {condition}" for condition, count in counts.items())
    number = number_of(len(topics), "topic")
    documents = number_of(store.count, "document")
    return [f"{out}: {number}, {judgements} judgements, {documents}; read back by {readers}"]


def _judged(release: Release) -> Release:
    """Return the release with judged topics alone, and changed narratives where they are judged under these."""
    qrels = release.collection.judging.qrels
    fields = {"original": "qrels", "changed": "changed_qrels"}
    none = "a release has judgements under the original and under the changed narratives"
    fail((f"{field}: found none, and {none}" for name, field in fields.items() if not qrels.get(name)), UsageError)
    known = {topic.qid: topic for topic in release.collection.topics}
    fail(
        f"topic {qid}: judged under the {name} narrative, and {why}; give those that belong together"
        for name in CONDITIONS
        for qid in qrels[name]
        if (why := _problem(known.get(qid), name, qid in qrels["original"]))
    )
    topics = [
        topic.instructed({name: topic.instructions[name].strip() for name in CONDITIONS if qid in qrels[name]})
        for qid, topic in known.items()
        if qid in qrels["original"]
    ]
    if left_out := [qid for qid in known if qid not in qrels["original"]]:
        log.info(f"{number_of(len(left_out), 'topic')} not judged and left out: {brief(left_out)}")
    if unread := [qid for qid in qrels["original"] if qid not in qrels["changed"]]:
        log.info(f"{number_of(len(unread), 'topic')} not judged under a changed narrative: {brief(unread)}")
    return replace(release, collection=replace(release.collection, topics=topics))


def _problem(topic: Topic | None, condition: str, is_original: bool) -> str:
    if topic is None:
        return "not among the topics"
    if condition not in topic.instructions:
        return "has none"
    return "" if is_original else "not under the original one"


def _check_documents(store: DocumentStore, records: Records) -> None:
    docids = dict.fromkeys(chain.from_iterable([*records.qrels.values(), *(records.candidates or {}).values()]))
    missing = store.missing(list(docids))
    fail(
        f"document {docid}: judged or pooled, and not in the collection; give the documents it is from"
        for docid in missing
    )


def _write(part: Path, release: Release, store: DocumentStore, records: Records) -> None:
    topics, qrels = release.collection.topics, release.collection.judging.qrels
    write_bytes(part / TOPICS, _lines(map(record_of, topics)))
    for condition in CONDITIONS:
        write_qrels(part / f"{condition}.qrels", qrels[condition])
        narratives = ((topic, topic.instructions.get(condition)) for topic in topics)
        queries = (
            {"query_id": topic.qid, "text": topic.query, "instruction": text} for topic, text in narratives if text
        )
        write_bytes(part / f"{condition}.queries.jsonl", _lines(queries))
    paired = (stem(full) for full in records.queries if by_ending(full)[1] == "changed")
    write_bytes(part / "pairs.tsv", "".join(f"{qid}-changed\t{qid}-og\n" for qid in paired).encode())
    rows = mteb_configs(store, records.queries, records.candidates or {}, records.qrels)
    rows["qrel_diff"] = listed_documents(records.ruled_out or {})
    if release.texts:
        with finished(part / CORPUS) as stream, gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
            packed.writelines(
                _lines([{"_id": docid, "title": title, "text": text}]) for docid, title, text, *_ in store
            )
    else:
        del rows["corpus"]
        with finished(part / DOCIDS) as stream:
            stream.writelines(f"{docid}\n".encode() for docid in store.docids())
    splits = {config: SPLIT if config == "default" else config for config in rows}  # mFollowIR's
    files = {config: write_parquet(part / config, of_config, splits[config]) for config, of_config in rows.items()}
    shutil.copyfile(Path(__file__).with_name(DEFINITION), part / DEFINITION)
    _describe(part, release, store, [(config, splits[config], path) for config, path in files.items()])
    sums = "".join(f"{sha256}  {name}\n" for name, sha256 in digests(part).items())
    write_bytes(part / SUMS, sums.encode())


def _describe(part: Path, release: Release, store: DocumentStore, files: Sequence[tuple[str, str, str]]) -> None:
    """Write who judged, the README, and Croissant; ``files`` are config, split and path."""
    from pyarrow.parquet import read_schema

    collection, lang, agreement = release.collection, release.collection.language.code, ""
    if release.annotation:
        judgements = release.annotation.public_judgements({topic.qid for topic in collection.topics}, release.notes)
        write_bytes(part / JUDGEMENTS, _lines(judgements))
        public = release.annotation.public_agreement(judgements)
        write_json(part / AGREEMENT, public)
        agreement = "\n".join(f"- {line}" for line in agreement_lines(public))
    # the names of mFollowIR beside FollowIR's, over the same files
    names = ((name, split, path) for config, split, path in files for name in (config, f"{config}-{lang}"))
    number = number_of(store.count, "document")
    parts = {
        "agreement": agreement,
        "configs": named_configs(names),
        "corpus": f"{number}, in `{CORPUS}`" if release.texts else f"{number}, by their ids alone in `{DOCIDS}`",
        "docs": CORPUS if release.texts else "DOCUMENTS",
        "reusable": indent(_reusable(release, store), "    "),
    }
    text = readme(release.facts, collection.topics, collection.judging.qrels, lang, parts)
    write_bytes(part / "README.md", text.encode())
    columns = {path: read_schema(part / path).names for _, _, path in files}
    write_json(part / "croissant.json", croissant(release.facts, part, columns))


def _reusable(release: Release, store: DocumentStore) -> str:
    """Return as text whether the judgements suit another system; empty without runs, without IRS of other documents."""
    if not release.runs:
        return ""
    original, changed = (release.collection.judging.qrels[condition] for condition in CONDITIONS)
    docids = {docid for run in release.runs.values() for scores in run.values() for docid in scores}
    size = 0 if store.missing(sorted(docids)) else store.count
    pool = release.pool or {qid: list(grades) for qid, grades in original.items()}
    return reusable_text(release.runs, pool, Judgements(original, changed, size, release.teams))


def _lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records).encode()


def _check_private(part: Path, release: Release) -> None:
    if release.annotation:
        harmless = release.facts.listed("not names")
        fail(leaks(part, release.annotation.names, release.annotation.secrets, harmless))


def _check_read(part: Path, release: Release, records: Records) -> str:
    """Return who read the records that were written; :class:`DataError` where one reads others."""
    others = [name for name in READERS if release.texts or name != "mteb"]
    read = read_by_heed(part) | read_by_others(part, release.collection.language.code, others)
    fail(
        f"{reader} reads other records than those written: {brief(list(differing))}; please report it"
        for reader, theirs in read.items()
        if (differing := list(records.differences(theirs)))
    )
    return ", ".join(read)
