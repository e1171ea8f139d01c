"""A collection: documents, topics, and the judgements and measures of its runs; and how a published form is read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, get_type_hints

from heed.data import FILES, Data
from heed.datasets import irds
from heed.errors import UsageError, fail
from heed.files import CONTROL
from heed.formats.document_store import DocumentStore
from heed.formats.documents import Files, Source
from heed.formats.judgements import read_judgements
from heed.formats.topic_ids import number_hint
from heed.formats.topics import read_topics
from heed.languages import LANGUAGES, Language, foreign_letters, known_language
from heed.measures.evaluate import Judging
from heed.notebook import html_table
from heed.progress import brief, gathering, log, warn
from heed.types import INSTRUCTED, JOIN, Qrels, Topic, conditions_of, under

Arguments = ParamSpec("Arguments")
SAMPLED, BEGINNING = 50, 1000  # documents whose letters are looked at, and characters of each
SHOWN_IDS = 6  # docids named as examples, and one more


@dataclass(frozen=True, repr=False)
class Collection:
    """Documents, topics and qrels by condition.

    Results go to ``<out>/<name>/<subset>/``, indexes to ``<indexes>/<name>/<index>/``; ``index`` defaults to
    ``subset``. ``candidates`` are published lists by qid, which rerankers rescore by default if ``reranked`` is
    true; ``join`` is how query and instruction become one text for systems without a template;
    ``warnings`` are those of its files, which results repeat. ``parts`` by language are there where documents are in
    several: each is searched, and this, which has no one language for an index, is what merged lists are measured over.
    ``averaged`` is the measure that a benchmark averages over its collections, as ``score``; empty without any.
    ``own_ids``: documents with the id of a query are left out of its list, whatever their text.
    """

    name: str
    subset: str
    language: Language
    source: Source
    topics: list[Topic]
    judging: Judging
    index: str = ""
    candidates: dict[str, list[str]] = field(default_factory=dict)
    reranked: bool = False
    join: str = JOIN
    warnings: Sequence[str] = ()
    parts: Mapping[str, "Collection"] = field(default_factory=dict)
    averaged: str = ""
    own_ids: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", self.index or self.subset)

    def __repr__(self) -> str:
        """Return name, topics and conditions: documents and judgements would fill a notebook."""
        conditions = ", ".join(conditions_of(self.topics, ()))
        return f"Collection({self.name} {self.subset}: {len(self.topics)} topics; {conditions})"

    def _repr_html_(self) -> str:
        lines = []
        for condition in conditions_of(self.topics, ()):
            qrels = self.judging.of(condition).values()
            relevant = sum(grade > 0 for grades in qrels for grade in grades.values())
            lines.append((condition, len(under(self.topics, condition)), len(qrels), sum(map(len, qrels)), relevant))
        head = ("condition", "topics", "judged topics", "judgements", "relevant documents")
        title = f"{self.name} {self.subset}, documents in {self.language.name}"
        return html_table(title, [head, *lines], numbers=range(1, len(head)), notes=self.warnings)


class Option(NamedTuple):
    """What is known of a layout's own parameter, as in ``docs_lang: Annotated[str, Option("…")] = "native"``."""

    help: str
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    type: Callable[[Any], Any] = str  # what a text becomes


class Layout(NamedTuple):
    """How collections of one published form are read; entries of a catalogue name it as ``package.module:NAME``.

    ``read(members, data, …)`` returns the collections of an entry, or of the entries of a group, and raises
    :class:`UsageError` and :class:`DataError`. ``takes`` are the fields of :class:`heed.data.Data` that it uses: those
    of ``DOCUMENTS`` where the documents may be the user's, of ``FILES`` where all files may be.
    """

    read: Callable[..., list[Collection]]
    takes: tuple[str, ...] = ()

    @property
    def options(self) -> dict[str, Option]:
        """Its own parameters by name; those without a help are set by commands alone."""
        hints = get_type_hints(self.read, include_extras=True)
        return {
            name: getattr(hints.get(name), "__metadata__", [Option("")])[0] for name in self.read.__kwdefaults__ or {}
        }

    def check(self, name: str, data: Data, parameters: Mapping[str, Any]) -> None:
        """Raise :class:`UsageError` for what the collection ``name`` does not take, and for values that are no choices.

        ``parameters`` are to be the layout's own.
        """
        known, asked_for = self.options, {field: getattr(data, field) for field in data.changed()}
        unused = [
            *(field for field in asked_for if field not in self.takes),
            *(each for each in parameters if each not in known),
        ]
        taken = [*(field for field in self.takes if field not in FILES), *(each for each in known if known[each].help)]
        fail([f"{', '.join(unused)}: not used by {name}; it takes {', '.join(taken)}"] if unused else [], UsageError)
        choices = {field.name: field.metadata.get("choices", ()) for field in fields(Data)}
        choices |= {each: option.choices for each, option in known.items()}
        others = (
            f"{each}: found {value!r}, expected {'one of ' if len(choices[each]) > 1 else ''}{', '.join(choices[each])}"
            for each, values in {**asked_for, **parameters}.items()
            for value in (values if isinstance(values, tuple | list) else (values,))
            if choices[each] and str(value) not in choices[each]
        )
        fail(others, UsageError)


def given_judgements(data: Data, lang: str, only_language: str | None = None) -> dict[str, Qrels]:
    """Return the judgements that ``data`` names, by condition; see :func:`heed.formats.judgements.read_judgements`."""
    encoding = data.encoding or lang
    return {condition: read_judgements(path, only_language, encoding) for condition, path in data.judged.items()}


def given_topics(data: Data, lang: str, collection: str = "", translation: str = "any") -> list[Topic]:
    """Return the topics that ``data`` names, a file, a folder or an id of ir_datasets, in ``lang``."""
    path, form = Path(data.topics or data.docs[0]), data.topics_format
    if not form and not path.exists() and find_spec("ir_datasets"):
        return irds.read_queries(str(path), lang, data.fields)
    reading = (lang, data.fields, form, data.encoding)
    return read_topics(path, *reading, collection=collection, translation=translation)


def with_warnings(load: Callable[Arguments, Collection]) -> Callable[Arguments, Collection]:
    """Return ``load`` with the warnings of loading in the collection that it returns."""

    @wraps(load)
    def loading(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Collection:
        with gathering([]) as warnings:
            collection = load(*args, **kwargs)
            warnings[:] = [*collection.warnings, *warnings]  # of a part that was loaded so too: not said again
            warn_of_unchanged(collection.topics)
            warn_of_letters(collection.source, collection.language)
            _warn_of_queries(collection.topics)
        return replace(collection, warnings=warnings)

    return loading


def warn_of_unchanged(topics: Sequence[Topic]) -> None:
    """Warn of topics whose changed instruction is the original one: there is no change that a system could follow."""
    both = [topic for topic in topics if {"original", "changed"} <= topic.instructions.keys()]
    texts = {topic.qid: topic.instructions for topic in both}
    same = [qid for qid, each in texts.items() if each["original"].split() == each["changed"].split()]
    if same:
        warn(f"the changed instruction is the original one in {len(same)} of {len(both)} topics: {brief(same)}")


def warn_of_letters(source: Source, language: Language) -> None:
    """Warn of documents in letters that ``language`` does not have, by the first of their files."""
    if not isinstance(source, Files):  # others might have to be fetched first
        return
    documents = [line.document for line in islice(source.lines(), SAMPLED) if line.document]
    text = "\n".join(f"{document.title} {document.text[:BEGINNING]}" for document in documents)
    if foreign := foreign_letters(text, language):
        letters, code = foreign
        likely = f"like {LANGUAGES[code].name}" if code else f"to be in {letters} letters"
        advice = f"; give their language, {code}" if code else ""
        warn(f"documents look {likely} and are analysed as {language.name}{advice}")


def _warn_of_queries(topics: Sequence[Topic]) -> None:
    """Warn of queries in letters that their language does not have."""
    for lang in dict.fromkeys(topic.lang for topic in topics):
        known = known_language(lang)
        text = " ".join(topic.query for topic in topics if topic.lang == lang)
        if known and (foreign := foreign_letters(text, known)):
            likely = LANGUAGES[foreign[1]].name if foreign[1] else f"{foreign[0]} letters"
            warn(f"queries look to be in {likely} and are read as {known.name}: are the topics the right ones?")


def check_collection(collection: Collection) -> None:
    """Raise :class:`DataError` for topics, and :class:`UsageError` for names, that no results can be written of."""
    if not isinstance(collection, Collection):
        raise UsageError(f"collection: found {collection!r:.60}, expected one, as heed.load returns it")
    folders = (collection.name, collection.subset, collection.index)
    wrong = [name for name in folders if name in ("", ".", "..") or Path(name).name != name]
    fail((f"collection name {name!r}: expected the name of a folder" for name in wrong), UsageError)
    fail(_topic_problems(collection))


def _topic_problems(collection: Collection) -> Iterator[str]:
    qids: set[str] = set()
    for topic in collection.topics:
        qid = topic.qid
        if not isinstance(qid, str) or qid.split() != [qid]:
            yield f"topic {qid!r}: its id is no word; expected a text without white space"
            continue
        if CONTROL.search(qid):
            yield f"topic {qid!r}: its id holds a control character, which no report shows; rename the topic"
        if qid in qids:
            yield f"topic {qid}: comes twice; keep one"
        qids.add(qid)
        unknown = sorted(set(topic.instructions).difference(INSTRUCTED))
        if unknown:
            yield f"topic {qid}: instructions for {', '.join(unknown)}, expected some of {', '.join(INSTRUCTED)}"


def missing_documents(collection: Collection, store: DocumentStore) -> int:
    """Return how many judged documents are not here, with a warning: such documents rank below all others.

    Raises :class:`DataError` for qrels that belong to other topics or other documents altogether; those that do in part
    are warnings.
    """
    missing: set[str] = set()
    problems = []
    known = [topic.qid for topic in collection.topics]
    qrels_of = {condition: qrels for condition, qrels in collection.judging.qrels.items() if qrels}
    if not qrels_of:
        log.info(f"no judgements for any of the {len(known)} topics: runs are written, nothing can be measured")
    for condition, qrels in qrels_of.items():
        unknown = sorted(qrels.keys() - set(known))
        hint = number_hint(unknown, known)
        judged = sorted({docid for qid in qrels.keys() & set(known) for docid in qrels[qid]})
        absent = store.missing(judged)
        if len(unknown) == len(qrels):
            problems.append(_foreign(condition, "topics", unknown, known, "among the topics") + hint)
        elif judged and len(absent) == len(judged):
            here = [document.docid for document in store.within(0, SHOWN_IDS)]
            problems.append(_foreign(condition, "judged documents", judged, here, "in the collection"))
        else:
            missing.update(absent)
            _warn_in_part(condition, "topics", unknown, len(qrels), f"among the topics{hint}")
            _warn_in_part(condition, "judged documents", absent, len(judged), "in the collection")
    fail(problems)
    for condition in conditions_of(collection.topics, ()):
        is_judged = [topic.qid in collection.judging.of(condition) for topic in under(collection.topics, condition)]
        if 0 < sum(is_judged) < len(is_judged):
            judged_topics = f"{sum(is_judged)} of {len(is_judged)} topics are judged under {condition}"
            say = warn if 2 * sum(is_judged) < len(is_judged) else log.info
            say(f"qrels: {judged_topics}; means are over these alone")
    return len(missing)


def _foreign(condition: str, kind: str, ids: Sequence[str], expected: Sequence[str], where: str) -> str:
    return (
        f"qrels ({condition}): none of {len(ids)} {kind} is {where}: found {brief(ids)}, expected ids such as "
        f"{brief(expected)}; give judgements of this collection, or none"
    )


def _warn_in_part(condition: str, kind: str, absent: Sequence[str], count: int, where: str) -> None:
    if absent:
        warn(f"qrels ({condition}): {len(absent)} of {count} {kind} are not {where}: {brief(absent)}")
