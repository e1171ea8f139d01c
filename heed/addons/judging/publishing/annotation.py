"""Judgements by assessors who are not named: what an export of an annotation says of who judged, without names."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec

from heed.addons.judging.annotate.grades import export, pair_agreements
from heed.addons.judging.annotate.people import token_digest
from heed.addons.judging.annotate.store import PASSAGE, Judgement, Store, is_annotation
from heed.addons.judging.annotate.task import ADJUDICATED, CONDITIONS, Passage, in_force, load_task
from heed.addons.judging.publishing.records import TOPICS
from heed.errors import DataError, UsageError, fail
from heed.files import parse_json, read_lines, read_objects, read_text
from heed.formats.document_store import DocumentStore
from heed.formats.judgements import read_judgements
from heed.formats.topics import read_topics
from heed.formats.trec_files import Pool
from heed.progress import log
from heed.types import Document, Qrels, Topic

PUBLIC = ("qid", "docid", "condition", "assessor", "grade", "reworded")  # of a judgement: no time, no decider
ORDER = ("assessor", "qid", "condition", "docid")
JUDGEMENTS, AGREEMENT, GUIDELINES = "judgements.jsonl", "agreement.json", "guidelines.md"
# all that assessors and publishers write; documents may name anybody
SCANNED = ("*.md", "*.json", "*.jsonl")  # those of the Parquet files are in the queries' lines too
TOKEN = re.compile(r"(?=([A-Za-z0-9_-]{43}))")  # of a link, within longer words too
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')  # of JSON


class Annotation(NamedTuple):
    """Topics, judgements by condition, and who judged; ``names`` must not be published, nor links.

    ``secrets`` are the digests of the links' tokens. The topics are over documents in the language ``lang``. A database
    has the pool and its documents as well. ``guidelines`` are the assessors'.
    """

    topics: list[Topic]
    qrels: dict[str, Qrels]
    judgements: list[dict[str, Any]]
    agreement: dict[str, Any]
    names: set[str]
    lang: str
    secrets: Collection[str] = ()
    pool: Pool | None = None
    documents: Sequence[Document] = ()
    guidelines: str = ""

    def labels(self) -> dict[int, str]:
        """Return the labels of the grades; empty for an export of an earlier version."""
        return {int(grade): str(label) for grade, label in self.agreement.get("labels", {}).items()}

    def public_judgements(self, qids: set[str], notes: bool, store: DocumentStore | None) -> list[dict[str, Any]]:
        """Return the judgements of topics without names; ``notes`` only if wanted, passages only of a ``store``'s."""
        names, keys = self._pseudonyms(), (*PUBLIC, "note") if notes else PUBLIC
        public = [
            {key: judgement.get(key) for key in keys}
            | ({"unsure": True} if judgement.get("unsure") is True else {})
            | ({PASSAGE: judgement[PASSAGE]} if store and _has_passage(store, judgement) else {})
            | {"assessor": names[judgement["assessor"]]}
            for judgement in self.judgements
            if judgement["qid"] in qids and (notes or judgement["grade"] is not None)
        ]
        return sorted(public, key=lambda judgement: [judgement[key] for key in ORDER])

    def _pseudonyms(self) -> dict[str, str]:
        """Return A1, A2 … by name: who judged most is first; their names do not decide."""
        lines: dict[str, list[str]] = {}
        for judgement in self.judgements:
            without = {**judgement, "assessor": "", "decided_by": ""}
            lines.setdefault(judgement["assessor"], []).append(json.dumps(without, sort_keys=True))
        names = sorted(lines.keys() - {ADJUDICATED}, key=lambda name: (-len(lines[name]), sorted(lines[name])))
        return {name: f"A{number}" for number, name in enumerate(names, 1)} | {ADJUDICATED: ADJUDICATED}

    def public_agreement(self, public: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the agreement of each two assessors by ``public`` judgements of narratives as they are now."""
        same_wording = [
            Judgement._make([*(judgement[key] for key in (*ORDER, "grade")), "", ""])
            for judgement in public
            if not judgement["reworded"]
        ]
        facts = {key: self.agreement.get(key) for key in ("scale", "labels", "rule", "decided_by_rule")}
        return facts | {"pairs": pair_agreements(same_wording, facts["scale"] or ())}


def read_export(folder: Path) -> Annotation:
    """Return the annotation that ``heed annotate`` exported to ``folder``; :class:`DataError` for a changed one."""
    if not (folder / JUDGEMENTS).is_file():
        raise DataError(
            f"{folder}: no {JUDGEMENTS}; expected a database of heed annotate, or the folder of its --export"
        )
    read, agreement = [*read_objects(folder / JUDGEMENTS)], parse_json(read_text(folder / AGREEMENT))
    grades = (None, *agreement.get("scale", ()))
    fail(
        f"{folder / JUDGEMENTS}, line {line_no}: expected {', '.join(PUBLIC)}, a grade of {AGREEMENT}; export again"
        for line_no, record in read
        if not record.keys() >= {*PUBLIC} or record["grade"] not in grades
    )
    judgements = [record for _, record in read]
    names = {record[key] for record in judgements for key in ("assessor", "decided_by") if record.get(key)}
    paths = {condition: folder / f"{condition}.qrels" for condition in CONDITIONS}
    qrels = {condition: read_judgements(path) for condition, path in paths.items() if path.exists()}
    topics = read_topics(folder / TOPICS, "", "title", "heed")
    guidelines = read_text(folder / GUIDELINES) if (folder / GUIDELINES).exists() else ""
    names -= {ADJUDICATED}
    return Annotation(topics, qrels, judgements, agreement, names, topics[0].lang, guidelines=guidelines)


def open_judged(path: Path, lang: str = "") -> Annotation:
    """Return the annotation of a database, which is exported for it, or of the folder of an export.

    Of topics over documents in several languages those of ``lang`` are returned; :class:`UsageError` without any.
    """
    if path.is_dir():
        exported = read_export(path)
        qids = _in_language({topic.qid: topic.lang for topic in exported.topics}, lang)
        topics = [topic for topic in exported.topics if topic.qid in qids]
        qrels = {name: {qid: qrels[qid] for qid in qrels if qid in qids} for name, qrels in exported.qrels.items()}
        return exported._replace(topics=topics, qrels=qrels, lang=topics[0].lang)
    if not is_annotation(path):
        raise DataError(f"{path}: no database of judgements; name that of the pool, or the folder of an export")
    with TemporaryDirectory() as place, closing(Store(path)) as store:
        task = in_force(load_task(store.properties()), store.withdrawn())
        qids = _in_language({qid: task.lang_of(qid) for qid in task.pool}, lang)
        task = in_force(task, {(qid, "") for qid in task.pool.keys() - qids})
        for line in export(task, store, Path(place)):
            log.info(line.removeprefix(f"{place}/"))
        exported = read_export(Path(place))
        rows = filter(None, map(store.document, task.docids()))
        return exported._replace(
            names=exported.names.union(store.assessors(), *task.assigned.values()) - {ADJUDICATED},
            secrets={*store.link_digests(), token_digest(store.properties()["token"])},
            pool=task.pool,
            documents=[Document(row.docid, row.title, row.text) for row in rows],
            lang=task.lang_of(next(iter(task.pool))),
        )


def _in_language(langs: Mapping[str, str], lang: str) -> set[str]:
    """Return the topics, of those in ``langs``, in one language, or in ``lang`` where they are in several."""
    known = dict.fromkeys(langs.values())
    if len(known) > 1 and lang not in known:
        raise UsageError(f"lang: topics are in {', '.join(known)}; publish one language at a time")
    return {qid for qid, other in langs.items() if len(known) == 1 or other == lang}


def leaks(folder: Path, names: set[str], secrets: Collection[str], harmless: Collection[str]) -> Iterator[str]:
    """Yield where a text in ``folder`` holds an assessor's name, but one of ``harmless``, or a secret."""
    patterns = {name: _as_word(name) for name in names.difference(harmless)}
    for path in sorted(path for pattern in SCANNED for path in folder.glob(pattern)):
        for number, line in enumerate(_texts(path), 1):
            where = f"{path.name}, line {number}"
            if any(token_digest(token) in secrets for token in TOKEN.findall(line)):
                yield f"{where}: holds the secret of a link; take it out"
            for name in (name for name, pattern in patterns.items() if pattern.search(line)):
                yield (
                    f"{where}: holds {name!r}, an assessor's name; take it out or, if it is a word there or is to be "
                    "named, list it as one of the facts 'not names'"
                )


def names_in(texts: Mapping[str, str], names: set[str], harmless: Collection[str]) -> Iterator[str]:
    """Yield which of the facts ``texts`` holds an assessor's name, but one of ``harmless``."""
    for question, text in texts.items():
        for name in sorted(names.difference(harmless)):
            if question != "not names" and _as_word(name).search(text):
                yield (
                    f"fact {question!r}: holds {name!r}, an assessor's name; take it out or, if it is a word there or "
                    "is to be named, list it as one of the facts 'not names'"
                )


def _has_passage(store: DocumentStore, judgement: Mapping[str, Any]) -> bool:
    """Whether a judgement has a passage, and it is one of its document and nothing else."""
    with suppress(msgspec.ValidationError):
        passage = msgspec.convert(judgement.get(PASSAGE), Passage)
        return passage.is_of(store.find([judgement["docid"]]).get(judgement["docid"]))
    return False


def _texts(path: Path) -> Iterator[str]:
    """Yield the texts of each line without JSON's escapes: a name may follow a line's end."""
    for _, line in read_lines(path):
        if path.name == JUDGEMENTS:  # a passage is a document's
            line = json.dumps({key: value for key, value in json.loads(line).items() if key != PASSAGE})
        yield line if path.suffix == ".md" else "\n".join(map(json.loads, STRING.findall(line)))


def _as_word(name: str) -> re.Pattern[str]:
    """Return the pattern of a name: a word of its own in ASCII, as not all languages part words."""
    before, after = (r"(?<!\w)", r"(?!\w)") if name.isascii() else ("", "")
    return re.compile(f"{before}{re.escape(name)}{after}")
