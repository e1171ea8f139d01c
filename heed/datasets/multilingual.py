"""News in several languages as one collection: documents of each, judged by language, searched apart."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from heed.data import Data
from heed.datasets.collection import Collection
from heed.errors import UsageError
from heed.formats.documents import DocumentLine, Documents, Source
from heed.languages import code_of, language
from heed.measures.evaluate import Judging
from heed.types import Qrels, SubtopicGrades, Topic

LANGS = ("zho", "fas", "rus")
MLIR = "mlir"  # what the track calls the task in all languages, in place of one
SAMPLE = "neuclir-sample"


@dataclass(frozen=True)
class Joined:
    """The documents of several sources that have none in common, as a :class:`heed.formats.documents.Source`."""

    sources: Sequence[Source]

    def __str__(self) -> str:
        return ", ".join(map(str, self.sources))

    @property
    def recipe(self) -> list[Any]:
        """What the sources say of themselves."""
        return [source.recipe for source in self.sources]

    def lines(self) -> Iterator[DocumentLine]:
        """Yield every line of every source."""
        return (line for source in self.sources for line in source.lines())


def multilingual(read: Callable[[Data], Collection], request: Data, translated: bool) -> Collection:
    """Return the collection of all languages, of which ``read`` returns that of one.

    Its ``parts`` are what is searched. It has all their documents, and their judgements with the language as the
    subtopic: merged lists are measured, and may be reranked, over it.

    Documents of the user's files are given as ``zho=PATH``. Of the embedded sample, which says the same in every
    language, each document is there in one of them.
    """
    documents, parts = _by_language(request.docs), dict[str, Collection]()
    for number, lang in enumerate(documents or LANGS):
        part = read(replace(request, lang=lang, docs=documents.get(lang, ())))
        parts[lang] = _third(part, number) if part.name == SAMPLE else part
    names = {lang: part.name for lang, part in parts.items()}
    if documents:
        parts = {lang: replace(part, name=request.name or "multilingual") for lang, part in parts.items()}
    elif len(set(names.values())) > 1:
        listed = ", ".join(f"{lang}: {called}" for lang, called in names.items())
        raise UsageError(f"collections of different names ({listed}); name one that is here in every language")
    if any(part.candidates for part in parts.values()):
        raise UsageError("mFollowIR's topics differ from language to language; give topics of NeuCLIR's form")
    topics: dict[str, Topic] = {}
    for part in parts.values():
        topics = {topic.qid: topic for topic in part.topics} | topics
    judging = {lang: part.judging for lang, part in parts.items()}
    conditions = dict.fromkeys(condition for each in judging.values() for condition in each.qrels)
    qrels = {name: _qrels({lang: each.qrels.get(name, {}) for lang, each in judging.items()}) for name in conditions}
    if any(not isinstance(grades, SubtopicGrades) for each in qrels.values() for grades in each.values()):
        parts = {lang: replace(part, judging=Judging({})) for lang, part in parts.items()}
    first, native = next(iter(parts.values())), request.query_lang == "native"
    index = f"{MLIR}-mt" if translated else MLIR
    return Collection(
        name=first.name,
        subset=index if native else f"eng-{index}",
        index=index,
        language=language("eng") if translated or not native else first.language,
        source=Joined([part.source for part in parts.values()]),
        topics=list(topics.values()),
        judging=Judging(qrels),
        warnings=list(dict.fromkeys(warning for part in parts.values() for warning in part.warnings)),
        parts=parts,
    )


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
        raise UsageError(f"documents in {next(iter(documents))} alone; give those of another language, or another lang")
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


def _qrels(by_language: Mapping[str, Qrels]) -> Qrels:
    """Return judgements with the language as the subtopic; as they are where they name no language."""
    first, *others = by_language.values()
    if first and all(each == first for each in others):  # the same file for each language
        return first
    qids = dict.fromkeys(qid for qrels in by_language.values() for qid in qrels)
    return {
        qid: SubtopicGrades({lang: qrels[qid] for lang, qrels in by_language.items() if qrels.get(qid)}) for qid in qids
    }
