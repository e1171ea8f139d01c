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
from heed.errors import HeedError
from heed.io.files import LARGEST, UNREADABLE
from heed.io.neuclir_topics import Wanted, read_neuclir_topics
from heed.io.trec_files import parse_qrels, read_qrels
from heed.languages import LANGUAGES
from heed.progress import log
from heed.types import Qrels, Topic

CODES = {one.short: one.code for one in LANGUAGES.values()}
HUB, MIRROR = "https://huggingface.co", "https://mirror.ir-datasets.com"
NIST_2023 = "qrels.final.gains.{}"  # the gains 0, 1, 3; qrels.final has the four raw levels


class Part(NamedTuple):
    """A set of topics: ``neuclir`` with a year, or ``hc4`` with a split."""

    source: str
    part: str


def documents_file(source: str, lang: str) -> Path:
    """Where ir_datasets keeps, or expects, the documents of ``neuclir`` or ``hc4`` in ``lang``."""
    return home() / ("neuclir/1" if source == "neuclir" else "hc4") / lang / DOCUMENTS[source]


DOCUMENTS = {"neuclir": "docs.jsonl.gz", "hc4": "hc4_docs.jsonl"}


def parse_id(text: str) -> tuple[str, str, str] | None:
    """``(source, language, part)`` of an id such as ``neuclir/1/zh/trec-2022`` or ``hc4/fa/dev``; else None."""
    source, *rest = text.split("/")
    if source not in DOCUMENTS or (source == "neuclir" and rest[:1] != ["1"]):
        return None
    lang, part = (rest[1:] if source == "neuclir" else rest)[:1], (rest[2:] if source == "neuclir" else rest[1:])
    if not lang or lang[0] not in CODES or len(part) > 1:
        return None
    return source, CODES[lang[0]], (part[0] if part else "").removeprefix("trec-")


def judged(parts: Sequence[Part], wanted: Wanted) -> tuple[list[Topic], Qrels]:
    """Topics of all ``parts`` that are judged in ``wanted.collection``, with their judgements."""
    topics: dict[str, Topic] = {}
    qrels: Qrels = {}
    for one in parts:
        found = _qrels(one, wanted.collection)
        qrels |= found
        read = read_neuclir_topics(_fetched(one.source, _topics_key(one)), wanted)
        topics |= {topic.qid: topic for topic in read if topic.qid in found}
        log.info(f"{one.source} {one.part}: {len(found)} topics are judged in {wanted.collection}")
    return list(topics.values()), qrels


def _topics_key(one: Part) -> str:
    return f"trec-{one.part}/queries" if one.source == "neuclir" else f"{one.part}/topics"


def _qrels(one: Part, lang: str) -> Qrels:
    if one.source == "hc4":
        short = next(short for short, code in CODES.items() if code == lang)
        return read_qrels(_fetched("hc4", f"{short}/{one.part}/qrels"))
    path = _fetched("neuclir", f"trec-{one.part}/qrels")
    if one.part == "2022":
        return read_qrels(path, only_language=lang)  # one file for all three languages
    return parse_qrels(_member(path, NIST_2023.format(lang)), path)


def _member(path: Path, name: str) -> Iterator[tuple[int, str]]:
    try:
        with tarfile.open(path) as archive:  # isfile: neither a link nor a device
            found = [one for one in archive.getmembers() if one.isfile() and Path(one.name).name == name]
            stream = archive.extractfile(found[0]) if found else None
            if stream is None or found[0].size > LARGEST:
                raise HeedError(f"{path}: no {name} of a sound size inside; delete the file, it is fetched again")
            for line_no, line in enumerate(io.TextIOWrapper(stream, encoding="utf-8"), 1):
                yield line_no, line.rstrip("\n")
    except (tarfile.TarError, UnicodeDecodeError, *UNREADABLE) as error:
        raise HeedError(f"{path}: cannot be read ({error}); delete the file so that it is fetched again") from error


def _fetched(source: str, key: str) -> Path:
    """The local file of an ir_datasets download, fetched and checked by ir_datasets if it is not here."""
    from ir_datasets.util import DownloadConfig

    place = home() / source
    try:
        return Path(DownloadConfig.context(source, place)[key].path())
    except KeyError as error:
        raise HeedError(
            f"{source}: ir_datasets knows no {key}; expected trec-2022, trec-2023, dev, test or train"
        ) from error
    except (OSError, RuntimeError) as error:
        raise HeedError(
            f"{source} {key}: cannot be fetched ({error}); fetch it on a machine with a network and copy {place} here"
        ) from error


def known_file(source: str, key: str) -> File:
    """What ir_datasets says of one of its downloads: place, size, digest, and addresses unless it is licensed."""
    said = _downloads()[source][key]
    path = home() / source / said["cache_path"]
    url, md5 = said.get("url", ""), said.get("expected_md5", "")
    addresses = [url.replace(HUB, os.environ.get("HF_ENDPOINT", HUB))] if url else []
    addresses += [f"{MIRROR}/{md5}"] if said.get("irds_mirror") and md5 and url else []
    digest = f"md5:{md5}" if md5 else ""
    return File(str(path.relative_to(home())), path, said.get("size_hint"), digest, tuple(addresses))


@cache
def _downloads() -> dict[str, Any]:
    """ir_datasets' table of downloads; read without importing it, which makes its folders."""
    found = find_spec("ir_datasets")
    [folder] = (found and found.submodule_search_locations) or [""]
    table: dict[str, Any] = json.loads((Path(folder) / "etc/downloads.json").read_text(encoding="utf-8"))
    return table


def home() -> Path:
    """Where ir_datasets keeps its files: ``IR_DATASETS_HOME``, or ``~/.ir_datasets``."""
    return Path(os.environ.get("IR_DATASETS_HOME", Path.home() / ".ir_datasets"))
