"""The layouts of news: NeuCLIR, HC4 and the embedded sample in one language or in all three, and mFollowIR."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from heed.datasets.catalogue import Named
from heed.datasets.collection import Collection
from heed.datasets.followir import CROSS_LINGUAL
from heed.datasets.layout import Layout, Settings
from heed.datasets.neuclir import LANGS, SAMPLE, english_sample, is_translated, read_news
from heed.errors import UsageError
from heed.formats.documents import DocumentLine, Documents, Source
from heed.formats.user_files import OwnFiles
from heed.languages import code_of, language
from heed.measures.evaluate import Judging
from heed.types import Qrels, SubtopicGrades, Topic

MLIR = "mlir"  # what the track calls the task, in place of a language


def _read(members: Sequence[Named], settings: Settings) -> list[Collection]:
    name = members[0].name
    if not settings.lang:
        raise UsageError(f"{name}: needs lang")
    if settings.files.name and not settings.files.docs:
        raise UsageError("--name: not used here; it names a collection of --docs")
    if name == SAMPLE and settings.lang != MLIR and language(settings.lang).code == "eng":
        return [english_sample(settings)]
    of_name = None if settings.or_sample else name
    if settings.lang == MLIR:
        return [_multilingual(of_name, settings)]
    return [read_news(of_name, settings)]


def _read_mfollowir(members: Sequence[Named], settings: Settings) -> list[Collection]:
    """Return mFollowIR in one language, from the hub or a local copy."""
    member = members[0]
    if not settings.lang:
        raise UsageError(f"{member.name}: needs lang")
    files = OwnFiles(topics=str(settings.data or member.entry.hub), topics_format="mfollowir")
    query_lang = "eng" if member.name == CROSS_LINGUAL else "native"
    return [read_news(None, replace(settings, files=files, query_lang=query_lang))]


NEWS = Layout(_read, ("files", "lang", "query_lang", "docs_lang", "fields", "translation", "years"))
MFOLLOWIR = Layout(_read_mfollowir, ("lang", "data"))


class Joined:
    """The documents of several sources, as a :class:`heed.formats.documents.Source`."""

    def __init__(self, sources: Sequence[Source]) -> None:
        """Join ``sources``, which have no document in common."""
        self._sources = sources

    def __str__(self) -> str:
        """Return the sources as shown to the user."""
        return ", ".join(map(str, self._sources))

    @property
    def recipe(self) -> list[Any]:
        """What the sources say of themselves."""
        return [source.recipe for source in self._sources]

    def lines(self) -> Iterator[DocumentLine]:
        """Yield every line of every source."""
        return (line for source in self._sources for line in source.lines())


def _multilingual(name: str | None, settings: Settings) -> Collection:
    """Return the collection of all languages that ``settings`` describe, whose own ``lang`` is not read.

    Its ``parts`` are what is searched. It has all their documents, and their judgements with the language as the
    subtopic: merged lists are measured, and may be reranked, over it.

    Documents of the user's files are given as ``zho=PATH``. Of the embedded sample, which says the same in every
    language, each document is there in one of them. Raises :class:`UsageError` and :class:`DataError` as
    :func:`heed.datasets.neuclir.read_news` does.
    """
    files = settings.files
    documents = _by_language(files.docs)
    parts = {}
    for number, lang in enumerate(documents or LANGS):
        files_of_language = replace(files, docs=documents[lang]) if documents else files
        part = read_news(name, replace(settings, lang=lang, files=files_of_language))
        parts[lang] = _third(part, number) if part.name == SAMPLE else part
    names = {lang: part.name for lang, part in parts.items()}
    if documents:
        called = files.name or "multilingual"
        parts = {lang: replace(part, name=called) for lang, part in parts.items()}
    elif len(set(names.values())) > 1:
        listed = ", ".join(f"{lang}: {called}" for lang, called in names.items())
        raise UsageError(f"collections of different names ({listed}); name one that is here in every language")
    if any(part.candidates for part in parts.values()):
        raise UsageError("mFollowIR's topics differ from language to language; give topics of NeuCLIR's form")
    return _joined(parts, settings)


def _by_language(docs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of ``docs`` by language, without the languages' names."""
    documents: dict[str, tuple[str, ...]] = {}
    for text in docs:
        lang, equals, path = text.partition("=")
        lang = code_of(lang)
        if not equals or lang not in LANGS:
            expected = " or ".join(f"{each}={path or text}" for each in LANGS)
            raise UsageError(f"{text}: documents in several languages need each file's: expected {expected}")
        documents[lang] = (*documents.get(lang, ()), path)
    if len(documents) == 1:
        raise UsageError(f"documents in {next(iter(documents))} alone; give those of another language, or --lang")
    return documents


def _third(part: Collection, number: int) -> Collection:
    """Return every third document of the sample, beginning with ``number``, and their judgements."""
    documents_of_language = [line.document for line in part.source.lines() if line.document]
    documents = documents_of_language[number :: len(LANGS)]
    docids = {document.docid for document in documents}
    judged = {
        condition: {
            qid: {docid: grade for docid, grade in grades.items() if docid in docids} for qid, grades in qrels.items()
        }
        for condition, qrels in part.judging.qrels.items()
    }
    subset, index = f"{MLIR}-{part.subset}", f"{MLIR}-{part.index}"
    judging = part.judging._replace(qrels=judged)
    return replace(part, subset=subset, index=index, source=Documents(documents), judging=judging)


def _joined(parts: dict[str, Collection], settings: Settings) -> Collection:
    topics: dict[str, Topic] = {}
    for part in parts.values():
        topics = {topic.qid: topic for topic in part.topics} | topics
    judging = {lang: part.judging for lang, part in parts.items()}
    conditions = dict.fromkeys(condition for each in judging.values() for condition in each.qrels)
    qrels = {name: _qrels({lang: each.qrels.get(name, {}) for lang, each in judging.items()}) for name in conditions}
    if any(not isinstance(grades, SubtopicGrades) for each in qrels.values() for grades in each.values()):
        parts = {lang: replace(part, judging=Judging({})) for lang, part in parts.items()}
    first = next(iter(parts.values()))
    index = f"{MLIR}-mt" if is_translated(settings) else MLIR
    english = is_translated(settings) or settings.query_lang == "eng"
    return Collection(
        name=first.name,
        subset=index if settings.query_lang == "native" else f"eng-{index}",
        index=index,
        language=language("eng") if english else first.language,
        source=Joined([part.source for part in parts.values()]),
        topics=list(topics.values()),
        judging=Judging(qrels),
        warnings=list(dict.fromkeys(warning for part in parts.values() for warning in part.warnings)),
        parts=parts,
    )


def _qrels(by_language: Mapping[str, Qrels]) -> Qrels:
    """Return judgements with the language as the subtopic; as they are where they name no language."""
    first, *others = by_language.values()
    if first and all(each == first for each in others):  # the same file for each language
        return first
    qids = dict.fromkeys(qid for qrels in by_language.values() for qid in qrels)
    return {
        qid: SubtopicGrades({lang: qrels[qid] for lang, qrels in by_language.items() if qrels.get(qid)}) for qid in qids
    }
