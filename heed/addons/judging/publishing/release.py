"""Write a judged collection as a folder that a stranger can use, and read it back."""

import gzip
import json
import logging
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from heed.addons.judging.exchange.exports import new_folder, write_parquet
from heed.addons.judging.publishing.annotation import (
    AGREEMENT,
    JUDGEMENTS,
    Annotation,
    agreement_lines,
    leaks,
)
from heed.addons.judging.publishing.description import SPLITS, configs, croissant, pairs, readme
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
from heed.files import finished, write_bytes, write_json
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.topics import record_of
from heed.formats.trec_files import Pool, write_qrels
from heed.progress import brief, log, logging_only, number_of
from heed.reuse import digests
from heed.types import Topic

DOCIDS, SUMS = "docids.txt", "SHA256SUMS"


@dataclass(frozen=True)
class Release:
    """What is published.

    ``collection`` is judged under both narratives. ``pool`` has the documents that rerankers are given, by default the
    judged ones; ``reusable`` says as text whether the judgements suit another system. Without ``texts`` documents are
    named only; ``notes`` are the assessors'.
    """

    collection: Collection
    facts: Facts
    annotation: Annotation | None = None
    pool: Pool | None = None
    reusable: str = ""
    texts: bool = True
    notes: bool = False


def publish(release: Release, out: Path) -> list[str]:
    """Write the release to the new folder ``out``, read it back, and return lines of what was written.

    The folder is there as a whole or not at all. Raises :class:`UsageError` where judgements under one of the
    narratives are missing, and :class:`DataError` for judged documents that the collection lacks, for assessors' names
    and secrets in a file, and where Heed, ir_datasets or MTEB read other records than those written.
    """
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
    topics = [topic for topic in release.collection.topics if topic.qid in qrels["original"]]
    known = {topic.qid: topic for topic in topics}
    qrels = {name: {qid: grades for qid, grades in qrels[name].items() if qid in known} for name in CONDITIONS}
    fail(
        f"topic {qid}: judged under the {name} narrative and has none; give the topics that were judged"
        for name in CONDITIONS
        for qid in qrels[name]
        if name not in known[qid].instructions
    )
    left_out = [topic.qid for topic in release.collection.topics if topic.qid not in known]
    if left_out:
        log.info(f"{number_of(len(left_out), 'topic')} not judged and left out: {brief(left_out)}")
    if unread := [qid for qid in known if qid not in qrels["changed"]]:
        log.info(f"{number_of(len(unread), 'topic')} not judged under a changed narrative: {brief(unread)}")
    topics = [_trimmed(topic, [name for name in CONDITIONS if topic.qid in qrels[name]]) for topic in topics]
    judging = release.collection.judging._replace(qrels=qrels)
    return replace(release, collection=replace(release.collection, topics=topics, judging=judging))


def _trimmed(topic: Topic, conditions: Iterable[str]) -> Topic:
    return topic.instructed({name: topic.instructions[name].strip() for name in conditions})


def _check_documents(store: DocumentStore, records: Records) -> None:
    docids = dict.fromkeys(chain.from_iterable([*records.qrels.values(), *(records.candidates or {}).values()]))
    missing = store.missing(list(docids))
    fail(f"document {docid}: judged, and not in the collection; give the documents it is from" for docid in missing)


def _write(part: Path, release: Release, store: DocumentStore, records: Records) -> None:
    topics, qrels = release.collection.topics, release.collection.judging.qrels
    write_bytes(part / TOPICS, b"".join(_line(record_of(topic)) for topic in topics))
    for condition in CONDITIONS:
        write_qrels(part / f"{condition}.qrels", qrels[condition])
    write_bytes(part / "pairs.tsv", pairs(records.queries).encode())
    files = {
        config: f"{config}/{write_parquet(part / config, rows, SPLITS[config])}"
        for config, rows in _configs(store if release.texts else None, records).items()
    }
    if release.texts:
        with finished(part / CORPUS) as stream, gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
            packed.writelines(_line({"_id": docid, "title": title, "text": text}) for docid, title, text, *_ in store)
    else:
        with finished(part / DOCIDS) as stream:
            stream.writelines(f"{docid}\n".encode() for docid in store.docids())
    shutil.copyfile(Path(__file__).with_name(DEFINITION), part / DEFINITION)
    more = _described(part, release, store, configs(files, release.collection.language.code))
    text = readme(release.facts, topics, qrels, release.collection.language.code, more)
    write_bytes(part / "README.md", text.encode())
    write_json(part / "croissant.json", croissant(release.facts, part, files))
    sums = "".join(f"{sha256}  {name}\n" for name, sha256 in digests(part).items())
    write_bytes(part / SUMS, sums.encode())


def _configs(store: DocumentStore | None, records: Records) -> dict[str, Iterator[dict[str, Any]]]:
    """Return the rows of the Parquet files of FollowIR and mFollowIR."""
    queries, ruled_out = records.queries.items(), records.ruled_out or {}
    rows: dict[str, Iterator[dict[str, Any]]] = {
        "queries": ({"_id": full, "text": query} for full, (query, _) in queries),
        "instruction": ({"query-id": full, "instruction": instruction} for full, (_, instruction) in queries),
        "default": (
            {"query-id": full, "corpus-id": docid, "score": grade}
            for full, grades in records.qrels.items()
            for docid, grade in grades.items()
        ),
        "top_ranked": _listed(records.candidates or {}),
        "qrel_diff": _listed(ruled_out),
    }
    if store is None:
        return rows
    return {"corpus": ({"_id": docid, "title": title, "text": text} for docid, title, text, *_ in store), **rows}


def _listed(documents: Mapping[str, list[str]]) -> Iterator[dict[str, Any]]:
    return ({"query-id": qid, "corpus-ids": docids} for qid, docids in documents.items())


def _described(part: Path, release: Release, store: DocumentStore, listed: str) -> dict[str, str]:
    """Return the parts of the README that depend on what is published, after writing who judged."""
    agreement = ""
    if release.annotation:
        judgements = release.annotation.public_judgements(release.notes)
        write_bytes(part / JUDGEMENTS, b"".join(map(_line, judgements)))
        public = release.annotation.public_agreement()
        write_json(part / AGREEMENT, public)
        agreement = "\n".join(f"- {line}" for line in agreement_lines(public))
    number = number_of(store.count, "document")
    return {
        "agreement": agreement,
        "candidates": f"{'pooled' if release.pool else 'judged'} documents" if release.texts else "",
        "configs": listed,
        "corpus": CORPUS if release.texts else "DOCUMENTS",
        "documents": f"{number}, in `{CORPUS}`" if release.texts else f"{number}, by their ids alone in `{DOCIDS}`",
        "reusable": "\n".join(f"    {line}".rstrip() for line in release.reusable.splitlines()),
    }


def _line(record: Mapping[str, Any]) -> bytes:
    return f"{json.dumps(record, ensure_ascii=False)}\n".encode()


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
