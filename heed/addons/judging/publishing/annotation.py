"""Judgements by assessors who are not named: what an export of an annotation says of who judged, without names."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from heed.addons.judging.agreement import Agreement, agreement, pairs
from heed.addons.judging.annotate.grades import export
from heed.addons.judging.annotate.store import Store, is_annotation
from heed.addons.judging.annotate.task import ADJUDICATED, load_task
from heed.addons.judging.publishing.records import CONDITIONS, TOPICS
from heed.errors import DataError, UsageError
from heed.files import parse_json, read_lines, read_objects, read_text
from heed.formats.documents import Documents
from heed.formats.judgements import read_judgements
from heed.formats.topics import read_topics
from heed.formats.trec_files import Pool
from heed.progress import log
from heed.types import Document, Qrels, Topic

PUBLIC = ("qid", "docid", "condition", "assessor", "grade", "reworded")  # of a judgement: no time, no decider
ORDER = ("assessor", "qid", "condition", "docid")
JUDGEMENTS, AGREEMENT = "judgements.jsonl", "agreement.json"
SCANNED = (".md", ".json", ".jsonl")


class Annotation(NamedTuple):
    """The folder of an export, and what must not be published: the assessors' names and secret texts.

    A database has pool, documents and their language as well.
    """

    folder: Path
    judgements: list[dict[str, Any]]
    names: set[str]
    secrets: set[str] = set()  # noqa: RUF012 (of a NamedTuple, which nobody changes)
    pool: Pool | None = None
    documents: Documents | None = None
    lang: str = ""

    def judged(self, lang: str) -> tuple[list[Topic], dict[str, Qrels]]:
        """Return the topics with their narratives, and the judgements by condition; of several languages one's alone.

        Raises :class:`UsageError` where there are several, and ``lang`` is none of them.
        """
        topics = read_topics(self.folder / TOPICS, "", "title", "heed")
        langs = dict.fromkeys(topic.lang for topic in topics)
        if len(langs) > 1:
            if lang not in langs:
                raise UsageError(f"lang: topics are in {', '.join(langs)}; publish one language at a time")
            topics = [topic for topic in topics if topic.lang == lang]
        qids = {topic.qid for topic in topics}
        paths = {condition: self.folder / f"{condition}.qrels" for condition in CONDITIONS}
        read = {condition: read_judgements(path) for condition, path in paths.items() if path.exists()}
        qrels = {name: {qid: grades for qid, grades in of.items() if qid in qids} for name, of in read.items()}
        return topics, qrels if len(langs) > 1 else read

    def pseudonyms(self) -> dict[str, str]:
        """Return A1, A2 … by name: who judged most is first; their names do not decide."""
        lines: dict[str, list[str]] = {}
        for judgement in self.judgements:
            without = {**judgement, "assessor": "", "decided_by": ""}
            lines.setdefault(judgement["assessor"], []).append(json.dumps(without, sort_keys=True))
        names = sorted(lines.keys() - {ADJUDICATED}, key=lambda name: (-len(lines[name]), sorted(lines[name])))
        return {name: f"A{number}" for number, name in enumerate(names, 1)} | {ADJUDICATED: ADJUDICATED}

    def public_judgements(self, qids: Collection[str], notes: bool) -> list[dict[str, Any]]:
        """Return the judgements of topics without names and, unless ``notes`` are wanted, without notes."""
        names, keys = self.pseudonyms(), (*PUBLIC, "note") if notes else PUBLIC
        public = [
            {key: judgement.get(key) for key in keys} | {"assessor": names[judgement["assessor"]]}
            for judgement in self.judgements
            if judgement["qid"] in qids and (notes or judgement["grade"] is not None)
        ]
        return sorted(public, key=lambda judgement: [judgement[key] for key in ORDER])

    def public_agreement(self, public: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the agreement of each two assessors by ``public`` judgements of narratives as they are now."""
        exported = parse_json(read_text(self.folder / AGREEMENT))
        by_condition: dict[str, dict[tuple[str, str], dict[str, int]]] = {name: {} for name in CONDITIONS}
        for judgement in public:
            if judgement["grade"] is not None and judgement["assessor"] != ADJUDICATED and not judgement["reworded"]:
                grades = by_condition[judgement["condition"]].setdefault((judgement["qid"], judgement["docid"]), {})
                grades[judgement["assessor"]] = judgement["grade"]
        agreements = [
            {"first": first, "second": second, "condition": condition, **agreement(both, exported["scale"])._asdict()}
            for condition, documents in by_condition.items()
            for (first, second), both in pairs(documents.values()).items()
        ]
        return {key: exported.get(key) for key in ("scale", "rule", "decided_by_rule")} | {"pairs": agreements}


def agreement_lines(public: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each two assessors and condition."""
    for pair in public["pairs"]:
        result = Agreement(**{name: pair[name] for name in Agreement._fields})
        yield f"{pair['first']} and {pair['second']}, {pair['condition']}: {result.n} documents, {result.line()}"


def read_export(folder: Path) -> Annotation:
    """Return the annotation that ``heed annotate`` exported to ``folder``."""
    judgements = [record for _, record in read_objects(folder / JUDGEMENTS)]
    names = {record[key] for record in judgements for key in ("assessor", "decided_by") if record.get(key)}
    return Annotation(folder, judgements, names - {ADJUDICATED})


@contextmanager
def open_judged(path: Path) -> Iterator[Annotation]:
    """Yield the annotation of a database, which is exported for it, or of the folder of an export."""
    if path.is_dir():
        yield read_export(path)
        return
    if not is_annotation(path):
        raise DataError(f"{path}: no database of judgements; name that of the pool, or the folder of an export")
    with TemporaryDirectory() as place, closing(Store(path)) as store:
        task = load_task(store.properties())
        for line in export(task, store, Path(place)):
            log.info(line.removeprefix(f"{place}/"))
        exported = read_export(Path(place))
        rows = filter(None, map(store.document, task.docids()))
        documents = Documents([Document(row.docid, row.title, row.text) for row in rows])
        assigned = {name for names in task.assigned.values() for name in names}
        token = {token} if (token := store.properties().get("token")) else set()
        yield exported._replace(
            names=exported.names | assigned, secrets=token, pool=task.pool, documents=documents, lang=task.lang
        )


def leaks(folder: Path, names: set[str], secrets: set[str], harmless: Sequence[str]) -> Iterator[str]:
    """Yield where a text file of ``folder`` holds an assessor's name, but one of ``harmless``, or a secret."""
    patterns = {name: _as_word(name) for name in names.difference(harmless)}
    for path in sorted(path for path in folder.iterdir() if path.suffix in SCANNED):
        for line_no, line in read_lines(path):
            yield from (f"{path.name}, line {line_no}: holds the link's secret" for each in secrets if each in line)
            for name in (name for name, pattern in patterns.items() if pattern.search(line)):
                yield (
                    f"{path.name}, line {line_no}: holds {name!r}, an assessor's name; take it out or, if it is a "
                    "word there or is to be named, list it as one of the facts 'not names'"
                )


def _as_word(name: str) -> re.Pattern[str]:
    """Return the pattern of a name: a word of its own in ASCII, as not all languages part words."""
    before, after = (r"(?<!\w)", r"(?!\w)") if name.isascii() else ("", "")
    return re.compile(f"{before}{re.escape(name)}{after}")
