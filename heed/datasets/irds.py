"""Collections of ir_datasets: any id through its own readers; of NeuCLIR and HC4 the files that it fetches.

Those files are read by Heed itself: ir_datasets gives no queries for ``trec-2023`` (its issue 292)
and its document iterator first writes a second copy of the corpus.
"""

import io
import json
import logging
import os
import re
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from heed.data import FIELDS
from heed.datasets import IRDS_DOCUMENTS, irds_home
from heed.downloads import File, fetch
from heed.errors import DataError, HeedError, UsageError, did_you_mean, fail
from heed.extras import advice, require
from heed.files import LARGEST, UNREADABLE, nearest
from heed.formats.documents import DocumentLine, checked
from heed.formats.topic_ids import topics_with_ids
from heed.formats.topics import query_and_description, read_neuclir_topics
from heed.formats.trec_files import as_judged, parse_qrels, read_qrels
from heed.languages import LANGUAGES, language
from heed.progress import log
from heed.types import Document, Qrels, Subtopics, Topic, by_subtopic

CROSS = ("neuclir/", "hc4/")
CODES = {known.short: known.code for known in LANGUAGES.values()}
HOST = re.compile(r"HTTPS?ConnectionPool\(host=\\*'([^'\\]+)")  # in the requests library's errors
HUB, MIRROR = "https://huggingface.co", "https://mirror.ir-datasets.com"
NIST_2023 = "qrels.final.gains.{}"  # the gains 0, 1, 3; qrels.final has the four raw levels
# of a topic's title, description and narrative; in the data sets of TREC in Chinese and Spanish a language follows
NAMES = ("title", "text", "query"), ("description", "desc"), ("narrative", "narr", "guidelines")
# of documents without a default text: clinical trials, arguments, code
TEXTS = "title condition summary detailed_description eligibility premises_texts conclusion func_name code"


class IrDataset:
    """The documents of an ir_datasets id as a :class:`heed.formats.documents.Source`."""

    def __init__(self, dataset_id: str) -> None:
        """Look the id up; :class:`DataError` if ir_datasets does not know it, or it has no documents with text."""
        self._id = dataset_id
        dataset = load_dataset(dataset_id)
        if not has_documents(dataset_id):
            raise DataError(f"{dataset_id}: has no documents; expected an ir_datasets id that has, or files")
        kind = dataset.docs_cls()
        self._texts = [] if hasattr(kind, "default_text") else [name for name in kind._fields if name in TEXTS.split()]
        if not self._texts and not hasattr(kind, "default_text"):
            raise DataError(f"{dataset_id}: its documents have {', '.join(kind._fields)}, no text; expected another id")

    def __str__(self) -> str:
        return f"{self._id} (ir_datasets)"

    @property
    def places(self) -> list[str]:
        """The id."""
        return [self._id]

    @property
    def recipe(self) -> dict[str, str]:
        """The id and the version of ir_datasets, which checks the files that it fetches."""
        recipe = {"ir_datasets": self._id, "version": version("ir_datasets")}
        return {**recipe, "text": "articles"} if self._id.startswith("wapo/") else recipe

    def lines(self) -> Iterator[DocumentLine]:
        """Yield every document with ir_datasets' own choice of text, title included, else with that of ``TEXTS``."""
        with _data_errors(self._id):
            if articles := getattr(load_dataset(self._id), "docs_wapo_raw_iter", None):  # default_text lacks paragraphs
                yield from (checked(Path(self._id), number, record) for number, record in enumerate(articles(), 1))
                return
            for number, record in enumerate(load_dataset(self._id).docs_iter(), 1):
                texts = [getattr(record, name) or "" for name in self._texts]
                text = " ".join(texts) if texts else record.default_text()
                yield DocumentLine(Path(self._id), number, Document(record.doc_id, "", text))


def load_dataset(dataset_id: str) -> Any:
    """Return the ir_datasets object for an id; raises :class:`DataError` for an unknown one."""
    try:
        import ir_datasets
    except ImportError as error:
        reason = nearest(Path(dataset_id)) or f"; to read an id of ir_datasets: {advice('ir_datasets')}"
        raise DataError(f"{dataset_id}: no such file or folder{reason}") from error
    try:
        return ir_datasets.load(dataset_id)
    except KeyError as error:
        meant = nearest(Path(dataset_id)) or did_you_mean(dataset_id, [*ir_datasets.registry], before="; ")
        expected = meant or "; expected a file, a folder or such an id"
        raise DataError(f"{dataset_id}: no such file, and not an id that ir_datasets knows{expected}") from error


def has_documents(dataset_id: str) -> bool:
    """Return whether ir_datasets knows an id, and it has documents."""
    try:
        return bool(getattr(load_dataset(dataset_id), "has_docs", bool)())
    except DataError:
        return False


def language_of(dataset_id: str) -> str:
    """Return the two-letter language of the documents, ``en`` where ir_datasets does not say."""
    with _data_errors(dataset_id):
        return load_dataset(dataset_id).docs_lang() or "en"


def read_queries(dataset_id: str, lang: str, fields: str) -> list[Topic]:
    """Return the topics, with their narratives as original instructions.

    ``fields`` chooses title, description or both; a title is also the query, else ir_datasets' own choice of text.
    Raises :class:`DataError` for an id without topics, or with topics that are no texts, lack what ``fields``
    chooses or are not in ``lang``, and for files that are missing or damaged.
    """
    if dataset_id.startswith(CROSS):
        raise UsageError(f"{dataset_id}: its topics come in several languages; use heed neuclir")
    dataset = load_dataset(dataset_id)
    if not dataset.has_queries():
        raise DataError(f"{dataset_id}: has no topics; give topics=PATH")
    kind, short = dataset.queries_cls(), language(lang).short
    usable = [[name + end for name in names for end in ("", f"_{short}", f"_{short}1")] for names in NAMES]
    names = [next((name for name in names if name in kind._fields), "") for names in usable]
    has_query = {"title": names[0], "description": names[1], "both": names[0] and names[1]}[fields]
    if not has_query and not (fields == "title" and hasattr(kind, "default_text")):
        listed = ", ".join(kind._fields[1:])
        raise DataError(
            f"{dataset_id}: its topics have {listed}, no {FIELDS[fields]}; give other fields=TEXT or topics=PATH"
        )
    if (spoken := dataset.queries_lang()) and spoken != short:
        raise DataError(
            f"{dataset_id}: topics in {spoken!r} for documents in {short!r}; give other topics=PATH, or lang={spoken}"
        )
    topics = [_topic(query, lang, fields, names) for query in _counted(dataset_id, "topic", dataset.queries_iter)]
    blank = [topic for topic in topics if not topic.query and fields != "title"]
    fail(f"{dataset_id}: topic {topic.qid} has no {FIELDS[fields]}" for topic in blank)
    return topics_with_ids(topics, dataset_id)


def read_judgements(dataset_id: str) -> Qrels:
    """Return the judgements; raises :class:`DataError` for an id without any, and for missing or damaged files."""
    dataset = load_dataset(dataset_id)
    if not dataset.has_qrels():
        raise DataError(f"{dataset_id}: has no judgements; give qrels=PATH")
    topics: dict[str, Subtopics] = {}
    for judgement in _counted(_judgements_file(dataset, dataset_id), "judgement", dataset.qrels_iter):
        subtopics = topics.setdefault(judgement.query_id, {})
        subtopic = getattr(judgement, "subtopic_id", None) or getattr(judgement, "iteration", None) or "0"
        subtopics.setdefault(subtopic, {})[judgement.doc_id] = int(judgement.relevance)  # codesearchnet's are texts
    return as_judged(by_subtopic(topics), dataset_id)


def _judgements_file(dataset: Any, dataset_id: str) -> str:
    """Return the file of the judgements, the id where ir_datasets does not say it."""
    with _data_errors(dataset_id), suppress(AttributeError):  # of vaswani it misspells a name (0.6.3)
        return str(dataset.qrels_path())
    return dataset_id


def _counted(source: str, kind: str, read: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Yield what ir_datasets reads; an error says which topic or judgement of ``source`` it could not read."""
    number = 0
    with _data_errors(source, lambda: f", {kind} {number + 1}"):
        for item in read():
            number += 1
            yield item


def _topic(query: Any, lang: str, fields: str, names: Sequence[str]) -> Topic:
    title, description, narrative = (getattr(query, name, None) for name in names)
    text, description = query_and_description(title, description, fields)
    narrative = (narrative or "").strip()
    instructions = {"original": narrative} if narrative else {}
    if not text and fields == "title":
        text = query.default_text().strip()
    return Topic(query.query_id, lang, text, instructions, description=description)


@contextmanager
def _data_errors(source: str, part: Callable[[], str] = str) -> Iterator[None]:
    """Raise a :class:`DataError` for whatever ir_datasets raises for files that are missing or damaged.

    ``part`` returns which part of ``source`` was read: ``, topic 3``.
    """
    logger = logging.getLogger("ir_datasets")
    logger.addFilter(_is_no_failed_download)
    try:
        yield
    except HeedError:
        raise
    except Exception as error:  # its readers raise whatever their formats make them
        hosts = " and ".join(dict.fromkeys(HOST.findall(str(error))))
        if hosts:
            raise DataError(
                f"{source}: cannot be fetched, there is no way to {hosts} from here; run the command once on a "
                f"machine with a network, and copy {irds_home()} from there"
            ) from error
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"{source}{part()}: ir_datasets cannot read it ({reason}); heed fetch lists what can be "
            "fetched and says where to put what needs a licence"
        ) from error
    finally:
        logger.removeFilter(_is_no_failed_download)


def _is_no_failed_download(record: logging.LogRecord) -> bool:
    """Whether a message of ir_datasets is one to show: of failed downloads the error tells, once for all."""
    return not record.getMessage().lower().startswith(("download error", "download failed"))


class DatasetId(NamedTuple):
    """An id of NeuCLIR or HC4: ``neuclir`` or ``hc4``, an ISO 639-3 code, a year or split (empty for documents)."""

    source: str
    lang: str
    part: str


def parse_id(text: str) -> DatasetId | None:
    """Return the parts of an id such as ``neuclir/1/zh/trec-2022``; None for another text, and a path that exists."""
    source, *rest = text.split("/")
    if Path(text).exists() or source not in IRDS_DOCUMENTS or (source == "neuclir" and rest[:1] != ["1"]):
        return None
    lang, *part = (rest[1:] if source == "neuclir" else rest) or [""]
    if lang not in CODES or len(part) > 1:
        return None
    return DatasetId(source, CODES[lang], (part[0] if part else "").removeprefix("trec-"))


def judged(
    source: str, parts: Sequence[str], collection: str, lang: str, fields: str = "title", translation: str = "any"
) -> tuple[list[Topic], Qrels]:
    """Return the topics judged over documents in ``collection``, of years of ``neuclir`` or splits of ``hc4``."""
    topics: dict[str, Topic] = {}
    qrels: Qrels = {}
    for part in parts:
        of_part = _qrels(source, part, collection)
        qrels |= of_part
        key = f"trec-{part}/queries" if source == "neuclir" else f"{part}/topics"
        path = _fetched(source, key)
        read = read_neuclir_topics(path, lang, fields, collection=collection, translation=translation)
        topics |= {topic.qid: topic for topic in read if topic.qid in of_part}
        log.info(f"{source} {part}: {len(of_part)} topics are judged in {collection}")
    return list(topics.values()), qrels


def _qrels(source: str, part: str, lang: str) -> Qrels:
    if source == "hc4":
        return read_qrels(_fetched("hc4", f"{LANGUAGES[lang].short}/{part}/qrels"))
    path = _fetched("neuclir", f"trec-{part}/qrels")
    if part == "2022":
        return read_qrels(path, only_language=lang)  # one file for all three languages
    return parse_qrels(_member(path, NIST_2023.format(lang)), path)


def _member(path: Path, name: str) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of file ``name`` inside the archive ``path``."""
    try:
        with tarfile.open(path) as archive:  # isfile: neither a link nor a device
            members = [file for file in archive.getmembers() if file.isfile() and Path(file.name).name == name]
            stream = archive.extractfile(members[0]) if members else None
            if stream is None or members[0].size > LARGEST:
                raise DataError(f"{path}: no {name} of a plausible size inside; delete the file, it is fetched again")
            for line_no, line in enumerate(io.TextIOWrapper(stream, encoding="utf-8"), 1):
                yield line_no, line.rstrip("\n")
    except (tarfile.TarError, UnicodeDecodeError, *UNREADABLE) as error:
        raise DataError(f"{path}: cannot be read ({error}); delete the file so that it is fetched again") from error


def _fetched(source: str, key: str) -> Path:
    """Return the local file of an ir_datasets download, fetched if it is missing."""
    if key not in _downloads()[source]:
        raise UsageError(f"{source}: ir_datasets knows no {key}; expected trec-2022, trec-2023, dev, test or train")
    file = known_file(source, key)
    fetch([] if file.path.is_file() else [file])
    return file.path


def known_file(source: str, key: str) -> File:
    """Return path, size, digest, and addresses (none for licensed files) of a download that ir_datasets knows."""
    entry = _downloads()[source][key]
    path = irds_home() / source / entry["cache_path"]
    url, md5 = entry.get("url", ""), entry.get("expected_md5", "")
    addresses = [url.replace(HUB, os.environ.get("HF_ENDPOINT", HUB))] if url else []
    addresses += [f"{MIRROR}/{md5}"] if entry.get("irds_mirror") and md5 and url else []
    digest = f"md5:{md5}" if md5 else ""
    return File(str(path.relative_to(irds_home())), path, entry.get("size_hint"), digest, tuple(addresses))


@cache
def _downloads() -> dict[str, Any]:
    """Return ir_datasets' table of downloads, read without importing it: the import creates folders."""
    require("ir_datasets", "sizes and addresses of ir_datasets' collections")
    spec = find_spec("ir_datasets")
    [folder] = (spec and spec.submodule_search_locations) or [""]
    table: dict[str, Any] = json.loads((Path(folder) / "etc/downloads.json").read_text(encoding="utf-8"))
    return table
