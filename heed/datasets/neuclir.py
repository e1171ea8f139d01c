"""Where NeuCLIR, HC4, mFollowIR and the sample lie on this machine, and how each is read."""

import argparse
from pathlib import Path
from typing import NamedTuple

from heed.collection import Collection
from heed.datasets import neuclir_files as irds
from heed.datasets.mfollowir import download, is_mfollowir, read_mfollowir
from heed.datasets.sample import sample_root
from heed.errors import HeedError, fail
from heed.evaluation.evaluate import Judging
from heed.io.documents import SUFFIXES, Files, corpus_files
from heed.io.neuclir_topics import Wanted, read_neuclir_topics
from heed.io.topic_files import given_qrels, read_topics, recognised
from heed.io.topics import read_jsonl_topics
from heed.io.trec_files import read_qrels
from heed.languages import language
from heed.progress import log
from heed.reranking.cues import script_language
from heed.types import Qrels, Topic
from pipelines.options import refuse

SAMPLE = "neuclir-sample"
SOURCES = {"neuclir1": "neuclir", "hc4": "hc4"}  # --collection: what ir_datasets calls it


class Judged(NamedTuple):
    """Topics with their judgements by condition, and candidate lists where they come with them."""

    topics: list[Topic]
    qrels: dict[str, Qrels]
    candidates: dict[str, list[str]]


def find_collection(options: argparse.Namespace) -> Collection:
    """The collection that the options of ``python -m pipelines.neuclir`` describe.

    Raises :class:`HeedError` for data that are not here, saying how to get them.
    """
    mfollowir = _mfollowir_folder(options)
    fail(_contradictions(options, mfollowir is not None))
    if mfollowir:
        read = read_mfollowir(mfollowir, options.lang, _wanted(options).lang)
        _refuse_other_script(mfollowir, read.topics, _wanted(options).lang)
        documents, name = read.corpus, "mfollowir"
        if options.docs:  # figures over other documents do not replace those over the published ones
            documents, name = _given_documents(options), f"mfollowir-{_name(options.docs[0])}"
        judged = Judged(read.topics, {**read.qrels, **given_qrels(options, options.lang)}, read.candidates)
    else:
        documents, name = _documents(options)
        if name in (SAMPLE, "hc4"):
            refuse(options, ["year"], f"it chooses topics of NeuCLIR's documents; these are {name}")
        if name == SAMPLE:
            refuse(options, ["translation"], "the sample's topics were written in each language")
        judged = _judged(options, name)
    translated = options.docs_lang == "eng"
    shelf = f"{options.lang}-mt" if translated else options.lang
    return Collection(
        name=name,
        subset=shelf if options.query_lang == "native" else f"eng-{shelf}",
        index=shelf,
        language=language("eng" if translated else options.lang),
        source=Files(documents),
        topics=judged.topics,
        judging=Judging(judged.qrels),
        candidates=judged.candidates,
    )


def _contradictions(options: argparse.Namespace, mfollowir: bool) -> list[str]:
    """Options that would be ignored, or would call documents or topics what they are not."""
    found = []
    if mfollowir:
        given = [options.year, options.collection != "auto", options.translation, options.fields != "title"]
        names = ("--year", "--collection", "--translation", "--fields")
        named = ", ".join(name for name, value in zip(names, given, strict=True) if value)
        found += [f"{named}: not used here; mFollowIR has its own topics and documents"] if named else []
        if options.docs_lang == "eng" and not options.docs:
            found.append("--docs-lang eng: mFollowIR's documents are not translated; give translated ones with --docs")
    elif options.year and options.topics:
        found.append("--year: chooses NeuCLIR's own topics; leave it out, or --topics")
    for text in [*(options.docs or []), *([options.topics] if options.topics else [])]:
        known = None if Path(text).exists() else irds.parse_id(text)
        if known and known[1] != options.lang:
            found.append(f"{text}: is in {known[1]}, --lang is {options.lang}; name one language")
        if known and options.docs_lang == "eng" and text != options.topics:
            found.append(f"{text}: these documents are in {known[1]}; give translated files, or leave --docs-lang out")
    return found


def _refuse_other_script(folder: Path, topics: list[Topic], lang: str) -> None:
    """The cross-lingual data set has the names of the monolingual one; its queries tell the two apart."""
    found = script_language(" ".join(topic.query for topic in topics))
    if found != lang:
        raise HeedError(
            f"{folder}: its queries are in {found}, expected {lang}; "
            + ("name it with --query-lang eng" if found == "eng" else "leave --query-lang eng out")
        )


def _mfollowir_folder(options: argparse.Namespace) -> Path | None:
    """The local copy of mFollowIR that --topics names, fetched if it names a hub id; None for other topics."""
    if not options.topics:
        return None
    path = Path(options.topics)
    if path.exists():
        return path if options.topics_format == "mfollowir" or is_mfollowir(path, options.lang) else None
    named = options.topics_format == "mfollowir" or "mfollowir" in options.topics.lower()
    return download(options.topics, options.lang) if named else None


def _documents(options: argparse.Namespace) -> tuple[list[Path], str]:
    """The document files and the collection's name."""
    given = _given_documents(options)
    if given:
        return given, options.collection if options.collection in SOURCES else _name(options.docs[0])
    if options.collection in SOURCES:
        found = _real_documents(options.collection, options)
        return found, options.collection
    for name in SOURCES if options.collection == "auto" else ():
        if _place(name, options).exists():
            return _real_documents(name, options), name
    if options.collection == "auto":
        if options.topics or options.qrels:
            raise HeedError(
                "--topics and --qrels need --docs (or --collection sample): no NeuCLIR or HC4 is on this machine"
            )
        log.info(
            "no NeuCLIR or HC4 documents on this machine: this is the embedded sample, invented news for a first try"
        )
    lang = "eng" if options.docs_lang == "eng" else options.lang
    return [sample_root() / "documents" / SAMPLE / f"{lang}.jsonl"], SAMPLE


def _given_documents(options: argparse.Namespace) -> list[Path]:
    """The paths of --docs; an ir_datasets id stands for the file that ir_datasets keeps."""
    found = []
    for text in options.docs or []:
        known = None if Path(text).exists() else irds.parse_id(text)
        found.append(irds.documents_file(known[0], known[1]) if known else Path(text))
        if known and not found[-1].exists():
            raise HeedError(_how_to_get(_name(text), options))
    return corpus_files(found) if found else []


def _name(text: str) -> str:
    """What a collection given with --docs is called: the real one's name for an id, else the file's stem."""
    known = None if Path(text).exists() else irds.parse_id(text)
    if known:
        return next(name for name, source in SOURCES.items() if source == known[0])
    name = Path(text).resolve().name
    return next((name.removesuffix(one) for one in SUFFIXES if name.endswith(one)), name) or "documents"


def _place(name: str, options: argparse.Namespace) -> Path:
    """Where a real collection's documents lie; machine-translated ones beside the natives, in ``eng``."""
    native = irds.documents_file(SOURCES[name], options.lang)
    return native.parent / "eng" if options.docs_lang == "eng" else native


def _real_documents(name: str, options: argparse.Namespace) -> list[Path]:
    place = _place(name, options)
    fail([] if place.exists() else [_how_to_get(name, options)])
    return [place]


def _how_to_get(name: str, options: argparse.Namespace) -> str:
    if options.docs_lang == "eng":
        how = "take NIST's neuCLIR-translations.tar.gz from ir.nist.gov/neuclir and put its .jsonl files there"
    elif name == "hc4":
        how = "make it with HC4's download_documents.py (github.com/hltcoe/HC4), over Common Crawl"
    else:
        short = language(options.lang).short
        how = f"on a machine with a network: ir_datasets export neuclir/1/{short} docs > /dev/null"
    return f"{_place(name, options)}: no documents of {name}; {how}; or name your own copy with --docs"


def _judged(options: argparse.Namespace, name: str) -> Judged:
    if name == SAMPLE:
        return _sample(options)
    wanted, given = _wanted(options), given_qrels(options, options.lang)
    if options.topics and Path(options.topics).exists():
        return Judged(_read_topics(options), given, {})
    topics, qrels = irds.judged(_parts(options, name), wanted)
    return Judged(topics, {"original": qrels, **given}, {})


def _parts(options: argparse.Namespace, name: str) -> list[irds.Part]:
    """The sets of topics that ir_datasets has for the options: --topics ID, or by --collection and --year."""
    if options.topics:
        known = irds.parse_id(options.topics)
        if known is None or not known[2]:
            raise HeedError(f"{options.topics}: no such file, and not an ir_datasets id such as neuclir/1/zh/trec-2022")
        return [irds.Part(known[0], known[2])]
    if name == "neuclir1":
        return [irds.Part("neuclir", year) for year in options.year or ["2022"]]
    if name == "hc4":
        return [irds.Part("hc4", "test")]
    raise HeedError(f"--docs without --topics: name the topics for {name}, a file or an ir_datasets id")


def _sample(options: argparse.Namespace) -> Judged:
    root, lang = sample_root(), _wanted(options).lang
    own = root / "topics" / SAMPLE / f"{lang}.jsonl"
    topics = _read_topics(options) if options.topics else read_jsonl_topics(own, lang, options.fields)
    names = () if options.topics else ("original", "changed")
    qrels = {name: read_qrels(root / "qrels" / SAMPLE / f"{name}.qrels") for name in names}
    return Judged(topics, {**qrels, **given_qrels(options, options.lang)}, {})


def _wanted(options: argparse.Namespace) -> Wanted:
    lang = "eng" if options.query_lang == "eng" else options.lang
    return Wanted(lang, options.lang, options.translation or "any", options.fields)


def _read_topics(options: argparse.Namespace) -> list[Topic]:
    path, wanted = Path(options.topics), _wanted(options)
    form = options.topics_format or recognised(path)
    if form != "neuclir":
        refuse(options, ["translation"], f"topics in the form {form} have none")
        return read_topics(path, wanted.lang, wanted.fields, form)
    topics = read_neuclir_topics(path, wanted)
    fail([] if topics else [f"{path}: no topic in {wanted.lang}; expected at least one line with a topic"])
    return topics
