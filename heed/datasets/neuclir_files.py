"""NeuCLIR and HC4 files that ir_datasets fetches: documents in place, topics, judgements.

The files are read by Heed itself: ir_datasets gives no queries for ``trec-2023`` (its issue 292)
and its document iterator first writes a second copy of the corpus.
"""

import io
import json
import os
import tarfile
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from heed.datasets.downloads import File
from heed.errors import DataError, UsageError
from heed.io.files import LARGEST, UNREADABLE
from heed.io.neuclir_topics import Wanted, read_neuclir_topics
from heed.io.trec_files import parse_qrels, read_qrels
from heed.languages import LANGUAGES
from heed.progress import log
from heed.types import Qrels, Topic

DOCUMENTS = {"neuclir": "docs.jsonl.gz", "hc4": "hc4_docs.jsonl"}
CODES = {known.short: known.code for known in LANGUAGES.values()}
HUB, MIRROR = "https://huggingface.co", "https://mirror.ir-datasets.com"
NIST_2023 = "qrels.final.gains.{}"  # the gains 0, 1, 3; qrels.final has the four raw levels


class Part(NamedTuple):
    """A set of topics: ``neuclir`` with a year, or ``hc4`` with a split."""

    source: str
    part: str


class DatasetId(NamedTuple):
    """An id of ir_datasets: ``source`` and ``part`` as in :class:`Part` (empty for documents), an ISO 639-3 code."""

    source: str
    lang: str
    part: str


def documents_file(source: str, lang: str) -> Path:
    """Return where ir_datasets keeps, or expects, the documents of ``neuclir`` or ``hc4`` in ``lang``."""
    return home() / ("neuclir/1" if source == "neuclir" else "hc4") / lang / DOCUMENTS[source]


def parse_id(text: str) -> DatasetId | None:
    """Return the parts of an id such as ``neuclir/1/zh/trec-2022`` or ``hc4/fa/dev``; None for another text."""
    source, *rest = text.split("/")
    if source not in DOCUMENTS or (source == "neuclir" and rest[:1] != ["1"]):
        return None
    lang, *part = (rest[1:] if source == "neuclir" else rest) or [""]
    if lang not in CODES or len(part) > 1:
        return None
    return DatasetId(source, CODES[lang], (part[0] if part else "").removeprefix("trec-"))


def judged(parts: Sequence[Part], wanted: Wanted) -> tuple[list[Topic], Qrels]:
    """Return the topics of all ``parts`` that are judged in ``wanted.collection``, and their judgements."""
    topics: dict[str, Topic] = {}
    qrels: Qrels = {}
    for part in parts:
        of_part = _qrels(part, wanted.collection)
        qrels |= of_part
        read = read_neuclir_topics(_fetched(part.source, _topics_key(part)), wanted)
        topics |= {topic.qid: topic for topic in read if topic.qid in of_part}
        log.info(f"{part.source} {part.part}: {len(of_part)} topics are judged in {wanted.collection}")
    return list(topics.values()), qrels


def _topics_key(part: Part) -> str:
    return f"trec-{part.part}/queries" if part.source == "neuclir" else f"{part.part}/topics"


def _qrels(part: Part, lang: str) -> Qrels:
    if part.source == "hc4":
        return read_qrels(_fetched("hc4", f"{LANGUAGES[lang].short}/{part.part}/qrels"))
    path = _fetched("neuclir", f"trec-{part.part}/qrels")
    if part.part == "2022":
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
    """Return the local file of an ir_datasets download, fetched and checked by ir_datasets if it is missing."""
    from ir_datasets.util import DownloadConfig

    folder = home() / source
    try:
        return Path(DownloadConfig.context(source, folder)[key].path())
    except KeyError as error:
        raise UsageError(
            f"{source}: ir_datasets knows no {key}; expected trec-2022, trec-2023, dev, test or train"
        ) from error
    except (OSError, RuntimeError) as error:
        raise DataError(
            f"{source} {key}: cannot be fetched ({error}); fetch it on a machine with a network and copy {folder} here"
        ) from error


def known_file(source: str, key: str) -> File:
    """Return path, size, digest, and addresses (none for licensed files) of a download that ir_datasets knows."""
    entry = _downloads()[source][key]
    path = home() / source / entry["cache_path"]
    url, md5 = entry.get("url", ""), entry.get("expected_md5", "")
    addresses = [url.replace(HUB, os.environ.get("HF_ENDPOINT", HUB))] if url else []
    addresses += [f"{MIRROR}/{md5}"] if entry.get("irds_mirror") and md5 and url else []
    digest = f"md5:{md5}" if md5 else ""
    return File(str(path.relative_to(home())), path, entry.get("size_hint"), digest, tuple(addresses))


@cache
def _downloads() -> dict[str, Any]:
    """Return ir_datasets' table of downloads, read without importing it: the import creates folders."""
    spec = find_spec("ir_datasets")
    [folder] = (spec and spec.submodule_search_locations) or [""]
    table: dict[str, Any] = json.loads((Path(folder) / "etc/downloads.json").read_text(encoding="utf-8"))
    return table


def home() -> Path:
    """Return where ir_datasets keeps its files: ``IR_DATASETS_HOME``, or ``~/.ir_datasets``."""
    return Path(os.environ.get("IR_DATASETS_HOME", Path.home() / ".ir_datasets"))
