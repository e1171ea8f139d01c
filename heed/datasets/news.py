"""News: NeuCLIR 1, HC4 and the embedded sample, and mFollowIR."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from heed.data import FILES, Data
from heed.datasets import documents_file, irds, sample_root
from heed.datasets.catalogue import Named
from heed.datasets.collection import Collection, Layout, Option, given_judgements, given_topics, with_warnings
from heed.datasets.followir import CROSS_LINGUAL, download
from heed.datasets.multilingual import LANGS, MLIR, SAMPLE, multilingual
from heed.datasets.own_files import OWN, LocalCopy, read_described, read_own
from heed.errors import DataError, UsageError, fail
from heed.files import unpacked_name
from heed.formats.data_set_folders import collection_name, data_set_in, data_set_of
from heed.formats.data_sets import is_mfollowir, read_mfollowir
from heed.formats.documents import SUFFIXES, Files, corpus_files
from heed.formats.topics import recognised
from heed.languages import code_of, foreign_letters, known_language, language, suggestion
from heed.measures.evaluate import Judging
from heed.progress import log
from heed.types import Qrels, Topic

SOURCES = {"neuclir1": "neuclir", "hc4": "hc4"}  # collection: what ir_datasets calls it


def _read(
    members: Sequence[Named],
    request: Data,
    *,
    docs_lang: Annotated[
        str, Option("documents as they are (default) or machine-translated to English", ("native", "eng"))
    ] = "native",
    translation: Annotated[
        str, Option("use only this translation of the topics (default: human if there is one)", ("human", "machine"))
    ] = "",
    years: Annotated[
        Sequence[str | int], Option("NeuCLIR topics of this year; repeatable (default 2022)", ("2022", "2023"))
    ] = (),
    or_sample: bool = False,
) -> list[Collection]:
    """Return NeuCLIR 1, HC4 or the sample, with the documents, topics and judgements of the user's files.

    With ``or_sample`` documents that are given name the collection, else what is on this machine is taken, or the
    sample. Raises :class:`UsageError` for what contradicts each other and :class:`DataError` for missing data, saying
    how to get them.
    """
    name, translated = members[0].name, docs_lang == "eng"
    if request.name and not request.docs:
        raise UsageError("name: not used here; it names a collection of docs")
    if name == SAMPLE and request.lang != MLIR and code_of(request.lang) == "eng":
        parameters = {"docs_lang": translated, "translation": translation, "years": years}
        unused = {parameter: value for parameter, value in parameters.items() if value}
        OWN._replace(takes=("lang", "fields")).check(f"{SAMPLE} in English", request, unused)
        return read_described(members, request)

    def read(of_language: Data) -> Collection:
        return news("" if or_sample else name, of_language, translated, translation, tuple(map(str, years)))

    return [multilingual(read, request, translated) if request.lang == MLIR else read(request)]


def _read_mfollowir(members: Sequence[Named], request: Data, *, data: LocalCopy = None) -> list[Collection]:
    """Return mFollowIR in one language, from the hub or a local copy."""
    name, hub = members[0].name, members[0].entry.hub
    fail([] if not data or Path(data).is_dir() else [f"{data}: no such folder; expected a copy of {hub}"])
    request = replace(request, lang=_language(request.lang), query_lang="eng" if name == CROSS_LINGUAL else "native")
    return [with_warnings(mfollowir)(Path(data) if data else download(hub, request.lang), request)]


NEWS = Layout(_read, (*FILES, "lang", "query_lang", "fields"))
MFOLLOWIR = Layout(_read_mfollowir, ("lang",))


@with_warnings
def news(name: str, request: Data, translated: bool, translation: str, years: Sequence[str]) -> Collection:
    """Return the news called ``name`` in one language; without it they are called after documents or what is here."""
    request = replace(request, lang=_language(request.lang))
    fail(_other_languages(request, translated), UsageError)
    if folder := _mfollowir_folder(request):
        used = {"collection": bool(name), "years": bool(years), "translation": bool(translation)}
        used |= {"fields": request.fields != "title", "docs_lang": translated}
        instead = "not used here; mFollowIR has its own topics and documents"
        fail((f"{field}: {instead}" for field, value in used.items() if value), UsageError)
        return mfollowir(folder, request)
    documents, name = _documents(name, request, translated)
    if name == SAMPLE and not request.topics:
        request = _with_sample(request)
    topics, qrels = _judged(name, request, translation or "any", years)
    return _collection(name, request, documents, topics, qrels, translated=translated)


def mfollowir(folder: Path, request: Data) -> Collection:
    """Return mFollowIR, whose files are in ``folder``, perhaps over documents of the user's own."""
    lang = request.queries_in(request.lang)
    topics, published, candidates, documents = read_mfollowir(folder, request.lang, lang)
    # the cross-lingual data set has the names of the monolingual one: only the queries differ
    if foreign := foreign_letters(" ".join(topic.query for topic in topics), language(lang)):
        spoken = foreign[1] or "eng"  # Latin letters are of most languages
        fix = "give query_lang=eng" if spoken == "eng" else "leave query_lang=eng out"
        raise UsageError(f"{folder}: its queries are in {spoken}, expected {lang}; {fix}")
    name = "mfollowir"
    if request.docs:  # figures over other documents do not replace those over the published ones
        documents, name = _given_documents(request.docs), f"mfollowir-{_name(request.docs[0])}"
    qrels = {**published, **given_judgements(request, request.lang, request.lang)}
    return replace(_collection(name, request, documents, topics, qrels), candidates=candidates)


def _collection(
    name: str,
    request: Data,
    documents: Sequence[Path],
    topics: list[Topic],
    qrels: dict[str, Qrels],
    *,
    translated: bool = False,
) -> Collection:
    index, spoken = (f"{request.lang}-mt", "eng") if translated else (request.lang, request.lang)
    return Collection(
        name=request.name or name,
        subset=index if request.query_lang == "native" else f"eng-{index}",
        index=index,
        language=language(spoken),
        source=Files(documents, request.encoding or spoken),
        topics=topics,
        judging=Judging(qrels),
    )


def _language(lang: str) -> str:
    code = code_of(lang)
    if code not in LANGS:
        known = known_language(lang)
        other = f"; {known.name} documents are searched by heed trec --lang {known.code}" if known else ""
        hint = other or suggestion(lang, LANGS)
        raise UsageError(f"lang: found {lang!r}, expected zho, fas or rus{hint}")
    return code


def _other_languages(request: Data, translated: bool) -> Iterator[str]:
    """Yield problems with ids of ir_datasets that are in another language than the one asked for."""
    for text in [*request.docs, *([request.topics] if request.topics else [])]:
        known = irds.parse_id(text)
        if known and known.lang != request.lang:
            yield f"{text}: is in {known.lang}, found lang={request.lang}; give lang={known.lang}, or other data"
        if known and translated and text != request.topics:
            yield f"{text}: these documents are in {known.lang}; give translated files, or leave docs_lang=eng out"


def _mfollowir_folder(request: Data) -> Path | None:
    """Return the local copy of mFollowIR that is named as topics, fetched if it is a hub id; None for other topics."""
    path, named = Path(request.topics), request.topics_format == "mfollowir"
    if request.topics and path.exists():
        return path if named or is_mfollowir(path, request.lang) else None
    return download(request.topics, request.lang) if named or "mfollowir" in request.topics.lower() else None


def _documents(name: str, request: Data, translated: bool) -> tuple[list[Path], str]:
    """Return the document files and the collection's name."""
    lang = request.lang
    if own_paths := _given_documents(request.docs):
        return own_paths, name if name in SOURCES else _name(request.docs[0])
    for source in (name,) if name else SOURCES:
        if source in SOURCES and (path := _path(source, lang, translated)).exists():
            return [path], source
    if name in SOURCES:
        raise DataError(_how_to_get(name, lang, translated))
    if not name and (request.topics or request.qrels):
        raise UsageError("topics, qrels: need docs=PATH, or the sample: no NeuCLIR or HC4 is on this machine")
    if not name:
        log.info("no NeuCLIR or HC4 documents here: this is the embedded sample, invented news for a first try")
    return [sample_root() / "documents" / SAMPLE / f"{'eng' if translated else lang}.jsonl"], SAMPLE


def _given_documents(docs: Sequence[str]) -> list[Path]:
    """Return the files of ``docs``; for an ir_datasets id the file that ir_datasets keeps."""
    paths = []
    for text in docs:
        known = irds.parse_id(text)
        paths.append(documents_file(known.source, known.lang) if known else Path(text))
        if known and not paths[-1].exists():
            raise DataError(_how_to_get(_name(text), known.lang, translated=False))
    return corpus_files(paths) if paths else []


def _name(text: str) -> str:
    """Return the collection's name for a document file: the real one's for an id, else the file's stem."""
    known = irds.parse_id(text)
    if known:
        return next(name for name, source in SOURCES.items() if source == known.source)
    if data_set_of(Path(text)):
        return collection_name(Path(text))
    name = unpacked_name(Path(text).resolve())
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name) or "documents"


def _path(name: str, lang: str, translated: bool) -> Path:
    """Return where a real collection's documents are expected; translated ones in ``eng`` beside the originals."""
    native = documents_file(SOURCES[name], lang)
    return native.parent / "eng" if translated else native


def _how_to_get(name: str, lang: str, translated: bool) -> str:
    how = f"on a machine with a network: ir_datasets export neuclir/1/{language(lang).short} docs > /dev/null"
    if translated:
        how = "take NIST's neuCLIR-translations.tar.gz from ir.nist.gov/neuclir and put its .jsonl files there"
    elif name == "hc4":
        how = "make it with HC4's download_documents.py (github.com/hltcoe/HC4), over Common Crawl"
    return f"{_path(name, lang, translated)}: no documents of {name}; {how}; or give your own copy as docs=PATH"


def _judged(name: str, request: Data, translation: str, years: Sequence[str]) -> tuple[list[Topic], dict[str, Qrels]]:
    """Return the topics, and their judgements by condition; raise :class:`UsageError` for choices among others."""
    path, lang, used = Path(request.topics), request.queries_in(request.lang), set[str]()
    if data_set_in(request.docs) and not request.topics:
        topics, qrels, _ = read_own(request, lang, request.lang)
    elif request.topics and (name == SAMPLE or path.exists()):
        form = request.topics_format or recognised(path, request.encoding or request.lang)
        used = {"translation"} if form == "neuclir" else set()
        qrels = given_judgements(request, lang, request.lang)
        topics = given_topics(replace(request, topics_format=form), lang, request.lang, translation)
    else:
        source, parts = _parts(name, request.topics, years)
        used = {"translation"} if request.topics else {"translation", "years"}
        qrels = given_judgements(request, lang, request.lang)
        topics, original = irds.judged(source, parts, request.lang, lang, request.fields, translation)
        qrels = {"original": original} | qrels
    problems = {"years": "it chooses NeuCLIR's own topics over its documents"} if years else {}
    if translation != "any":
        problems["translation"] = "only topics in NeuCLIR's form have translations"
    fail((f"{each}: not used here; {why}" for each, why in problems.items() if each not in used), UsageError)
    return topics, qrels


def _parts(name: str, topics: str, years: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the source in ir_datasets that topics or else the collection name: ``neuclir`` and years, ``hc4`` …."""
    if topics:
        known = irds.parse_id(topics)
        if known is None or not known.part:
            raise DataError(f"{topics}: no such file, and not an ir_datasets id such as neuclir/1/zh/trec-2022")
        return known.source, [known.part]
    if name not in SOURCES:
        raise UsageError(f"topics: none are given for {name}; name a file or an ir_datasets id")
    return SOURCES[name], ["test"] if name == "hc4" else years or ["2022"]


def _with_sample(request: Data) -> Data:
    """Return the request with topics of the embedded sample, and its judgements where it names none itself."""
    root, lang = sample_root(), request.queries_in(request.lang)
    topics, qrels = str(root / "topics" / SAMPLE / f"{lang}.jsonl"), root / "qrels" / SAMPLE
    original, changed = request.qrels or qrels / "original.qrels", request.changed_qrels or qrels / "changed.qrels"
    return replace(request, topics=topics, topics_format="heed", qrels=original, changed_qrels=changed)
