"""NeuCLIR, HC4, mFollowIR and the embedded sample: where they are on this machine, and how each is read."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from heed.datasets import irds, sample_root
from heed.datasets.collection import Collection, with_warnings
from heed.datasets.followir import download, is_mfollowir, read_mfollowir
from heed.datasets.layout import Settings
from heed.datasets.own_files import plain_collection
from heed.errors import DataError, UsageError, fail
from heed.files import unpacked_name
from heed.formats.data_set_folders import collection_name, data_set_of
from heed.formats.documents import SUFFIXES, Files, corpus_files
from heed.formats.neuclir_topics import TopicTexts, read_neuclir_topics
from heed.formats.topics import read_jsonl_topics
from heed.formats.trec_files import read_qrels
from heed.formats.user_files import read_own, read_topics, recognised
from heed.languages import code_of, language, script_language, suggestion
from heed.measures.evaluate import Judging
from heed.progress import log
from heed.types import Qrels, Topic

LANGS = ("zho", "fas", "rus")
SAMPLE = "neuclir-sample"
CHOICES = {"query_lang": ("native", "eng"), "translation": (None, "human", "machine"), "docs_lang": ("native", "eng")}
SOURCES = {"neuclir1": "neuclir", "hc4": "hc4"}  # collection: what ir_datasets calls it


@with_warnings
def read_news(name: str | None, settings: Settings) -> Collection:
    """Return the news called ``name``, with the documents, topics and judgements of the user's files.

    Without ``name`` they are called after the documents given; else what is on this machine is taken, or the sample.
    Raises :class:`UsageError` for settings that contradict each other and :class:`DataError` for missing data,
    saying how to get them.
    """
    settings = replace(settings, lang=_language(settings.lang))
    values = {setting: getattr(settings, setting) for setting in CHOICES}
    wrong = {setting: value for setting, value in values.items() if value not in CHOICES[setting]}
    fail(
        (f"{name}: found {value!r}, expected {' or '.join(map(str, CHOICES[name]))}" for name, value in wrong.items()),
        UsageError,
    )
    fail(_other_languages(settings), UsageError)
    if folder := _mfollowir_folder(settings):
        return _mfollowir(folder, name, settings)
    documents, name = _documents(name, settings)
    fail(_unused(settings, name), UsageError)
    return _collection(name, settings, documents, *_judged(name, settings))


def _collection(
    name: str, settings: Settings, documents: Sequence[Path], topics: list[Topic], qrels: dict[str, Qrels]
) -> Collection:
    index = f"{settings.lang}-mt" if is_translated(settings) else settings.lang
    return Collection(
        name=settings.files.name or name,
        subset=index if settings.query_lang == "native" else f"eng-{index}",
        index=index,
        language=language("eng" if is_translated(settings) else settings.lang),
        source=Files(documents, settings.files.encoding or ("eng" if is_translated(settings) else settings.lang)),
        topics=topics,
        judging=Judging(qrels),
    )


def _language(lang: str) -> str:
    code = code_of(lang)
    if code not in LANGS:
        english = "; English documents are searched by heed trec"
        hint = english if code == "eng" else suggestion(lang, LANGS)
        raise UsageError(f"--lang: found {lang!r}, expected zho, fas or rus{hint}")
    return code


def is_translated(settings: Settings) -> bool:
    """Return whether the documents are machine-translated to English."""
    return settings.docs_lang == "eng"


def _texts(settings: Settings) -> TopicTexts:
    """Return which of a topic's texts to read."""
    lang = "eng" if settings.query_lang == "eng" else settings.lang
    return TopicTexts(lang, settings.lang, settings.translation or "any", settings.fields)


def _other_languages(settings: Settings) -> Iterator[str]:
    """Yield problems with ids of ir_datasets that are in another language than the settings say."""
    files = settings.files
    for text in [*files.docs, *([files.topics] if files.topics else [])]:
        known = _known_id(text)
        if known and known.lang != settings.lang:
            yield f"{text}: is in {known.lang}, --lang is {settings.lang}; name one language"
        if known and is_translated(settings) and text != files.topics:
            yield f"{text}: these documents are in {known.lang}; give translated files, or leave --docs-lang out"


def _unused(settings: Settings, name: str) -> Iterator[str]:
    """Yield problems with settings that choose among topics of NeuCLIR or HC4, where others are read."""
    topics, data_set = settings.files.topics, settings.files.data_set
    if settings.years and (topics or data_set or name != "neuclir1"):
        yield "--year: not used here; it chooses NeuCLIR's own topics over its documents"
    in_translations = not data_set and name in SOURCES
    if topics:
        in_translations = not Path(topics).exists() or _form(topics, settings) == "neuclir"
    if settings.translation and not in_translations:
        yield "--translation: not used here; only topics in NeuCLIR's form have translations"


def _known_id(text: str) -> irds.DatasetId | None:
    """Return the parts of an ir_datasets id; None for a path that exists and for other texts."""
    return None if Path(text).exists() else irds.parse_id(text)


def _mfollowir_folder(settings: Settings) -> Path | None:
    """Return the local copy of mFollowIR that --topics names, fetched if it is a hub id; None for other topics."""
    files = settings.files
    if not files.topics:
        return None
    path = Path(files.topics)
    if path.exists():
        return path if files.topics_format == "mfollowir" or is_mfollowir(path, settings.lang) else None
    named = files.topics_format == "mfollowir" or "mfollowir" in files.topics.lower()
    return download(files.topics, settings.lang) if named else None


def _mfollowir(folder: Path, name: str | None, settings: Settings) -> Collection:
    """Return mFollowIR, whose files are in ``folder``, perhaps over documents of the user's own."""
    files, lang = settings.files, _texts(settings).lang
    has_values = {
        "--year": settings.years,
        "--collection": name,
        "--translation": settings.translation,
        "--fields": settings.fields != "title",
        "--docs-lang": is_translated(settings),
    }
    if unused := ", ".join(option for option, value in has_values.items() if value):
        raise UsageError(f"{unused}: not used here; mFollowIR has its own topics and documents")
    mfollowir = read_mfollowir(folder, settings.lang, lang)
    # the cross-lingual data set has the names of the monolingual one: only the queries differ
    script = script_language(" ".join(topic.query for topic in mfollowir.topics))
    if script != lang:
        fix = "name it with --query-lang eng" if script == "eng" else "leave --query-lang eng out"
        raise UsageError(f"{folder}: its queries are in {script}, expected {lang}; {fix}")
    documents, name = mfollowir.corpus, "mfollowir"
    if files.docs:  # figures over other documents do not replace those over the published ones
        documents, name = _given_documents(settings), f"mfollowir-{_name(files.docs[0])}"
    qrels = {**mfollowir.qrels, **files.judgements(settings.lang, settings.lang)}
    collection = _collection(name, settings, documents, mfollowir.topics, qrels)
    return replace(collection, candidates=mfollowir.candidates)


def _documents(name: str | None, settings: Settings) -> tuple[list[Path], str]:
    """Return the document files and the collection's name."""
    own_paths = _given_documents(settings)
    if own_paths:
        return own_paths, name if name in SOURCES else _name(settings.files.docs[0])
    here = [
        source for source in ([name] if name else SOURCES) if source in SOURCES and _path(source, settings).exists()
    ]
    if here:
        return [_path(here[0], settings)], here[0]
    if name in SOURCES:
        raise DataError(_how_to_get(name, settings))
    if not name:
        if settings.files.topics or settings.files.qrels:
            raise UsageError(
                "--topics and --qrels need --docs (or --collection sample): no NeuCLIR or HC4 is on this machine"
            )
        log.info(
            "no NeuCLIR or HC4 documents on this machine: this is the embedded sample, invented news for a first try"
        )
    lang = "eng" if is_translated(settings) else settings.lang
    return [sample_root() / "documents" / SAMPLE / f"{lang}.jsonl"], SAMPLE


def _given_documents(settings: Settings) -> list[Path]:
    """Return the files of --docs; for an ir_datasets id the file that ir_datasets keeps."""
    paths = []
    for text in settings.files.docs:
        known = _known_id(text)
        paths.append(irds.documents_file(known.source, known.lang) if known else Path(text))
        if known and not paths[-1].exists():
            raise DataError(_how_to_get(_name(text), settings))
    return corpus_files(paths) if paths else []


def _name(text: str) -> str:
    """Return the collection's name for a value of --docs: the real one's for an id, else the file's stem."""
    known = _known_id(text)
    if known:
        return next(name for name, source in SOURCES.items() if source == known.source)
    if data_set_of(Path(text)):
        return collection_name(Path(text))
    name = unpacked_name(Path(text).resolve())
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name) or "documents"


def _path(name: str, settings: Settings) -> Path:
    """Return where a real collection's documents are expected; translated ones in ``eng`` beside the originals."""
    native = irds.documents_file(SOURCES[name], settings.lang)
    return native.parent / "eng" if is_translated(settings) else native


def _how_to_get(name: str, settings: Settings) -> str:
    if is_translated(settings):
        how = "take NIST's neuCLIR-translations.tar.gz from ir.nist.gov/neuclir and put its .jsonl files there"
    elif name == "hc4":
        how = "make it with HC4's download_documents.py (github.com/hltcoe/HC4), over Common Crawl"
    else:
        short = language(settings.lang).short
        how = f"on a machine with a network: ir_datasets export neuclir/1/{short} docs > /dev/null"
    return f"{_path(name, settings)}: no documents of {name}; {how}; or name your own copy with --docs"


def _judged(name: str, settings: Settings) -> tuple[list[Topic], dict[str, Qrels]]:
    """Return the topics, and their judgements by condition."""
    files, texts = settings.files, _texts(settings)
    if files.data_set and not files.topics:
        return read_own(files, texts.lang, settings.fields, settings.lang)
    own_qrels = files.judgements(texts.lang, settings.lang)
    if files.topics and (name == SAMPLE or Path(files.topics).exists()):
        form = _form(files.topics, settings)
        if form == "neuclir":
            return read_neuclir_topics(Path(files.topics), texts, files.encoding), own_qrels
        return read_topics(Path(files.topics), texts.lang, texts.fields, form, files.encoding), own_qrels
    if name == SAMPLE:
        topics, published = _sample(texts.lang, settings.fields)
        return topics, {**published, **own_qrels}
    topics, qrels = irds.judged(*_parts(name, settings), texts)
    return topics, {"original": qrels, **own_qrels}


def _form(topics: str, settings: Settings) -> str:
    return settings.files.topics_format or recognised(Path(topics), settings.files.encoding or settings.lang)


def _sample(lang: str, fields: str) -> tuple[list[Topic], dict[str, Qrels]]:
    root = sample_root()
    topics = read_jsonl_topics(root / "topics" / SAMPLE / f"{lang}.jsonl", lang, fields)
    return topics, {name: read_qrels(root / "qrels" / SAMPLE / f"{name}.qrels") for name in ("original", "changed")}


def english_sample(settings: Settings) -> Collection:
    """Return the embedded sample in English; raises :class:`UsageError` for settings of the other languages alone."""
    foreign = [name for name in ("query_lang", "docs_lang", "files") if name in settings.changed()]
    if foreign:
        raise UsageError(f"{', '.join(foreign)}: not used by {SAMPLE} in English; it takes lang, fields")
    documents = Files([sample_root() / "documents" / SAMPLE / "eng.jsonl"])
    return plain_collection(SAMPLE, "eng", documents, *_sample("eng", settings.fields))


def _parts(name: str, settings: Settings) -> tuple[str, Sequence[str]]:
    """Return the source in ir_datasets that --topics or else the collection names: ``neuclir`` and years, ``hc4`` …."""
    if topics := settings.files.topics:
        known = irds.parse_id(topics)
        if known is None or not known.part:
            raise DataError(f"{topics}: no such file, and not an ir_datasets id such as neuclir/1/zh/trec-2022")
        return known.source, [known.part]
    if name == "neuclir1":
        return "neuclir", settings.years or ["2022"]
    if name == "hc4":
        return "hc4", ["test"]
    raise UsageError(f"--docs without --topics: name the topics for {name}, a file or an ir_datasets id")
