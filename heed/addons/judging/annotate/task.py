"""What is judged, and by whom: a pool, its topics, the scale of grades, judgements that exist already, assessors."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from heed.addons.judging.exchange import judgements
from heed.addons.judging.exchange.judgements import assessor_name
from heed.errors import UsageError, fail
from heed.files import digest_json, read_lines
from heed.formats.topic_ids import number_hint
from heed.formats.trec_files import Pool
from heed.progress import brief, log
from heed.types import Document, Qrels, Span, Topic

ADJUDICATED = judgements.ADJUDICATED
LONGEST_NAME, LONGEST_PASSAGE = 40, 20_000  # characters
JOINERS = dict.fromkeys((0x200C, 0x200D))  # parts of Persian names, though Python calls them not printable


def check_name(name: str | None) -> str:
    """Return an assessor's :func:`assessor_name`; :class:`UsageError` if it is empty, too long or not printable."""
    stripped = assessor_name(name)
    if not stripped or len(stripped) > LONGEST_NAME or not stripped.translate(JOINERS).isprintable():
        raise UsageError(f"assessor is {name!r}, expected a name of at most {LONGEST_NAME} characters")
    return stripped


def refuse_reserved(name: str) -> str:
    """Return ``name``; :class:`UsageError` if it is the adjudicator's, who decides on the agreement page."""
    if name.casefold() == ADJUDICATED:
        raise UsageError(f"assessor {name}: this name is reserved for decisions where assessors differ; choose another")
    return name


def parse_names(texts: Sequence[str]) -> dict[str, str]:
    """Return names here by names there, from ``THERE=HERE``; :class:`UsageError` for other text and a name twice."""
    names: dict[str, str] = {}
    for text in texts:
        there, equals, here = text.partition("=")
        if not equals:
            raise UsageError(f"names: found {text!r}, expected THERE=HERE, as 'Ann=Ann' or 'Ann=Ann of team 2'")
        if names.setdefault(check_name(there), refuse_reserved(check_name(here))) != check_name(here):
            raise UsageError(f"names: found {text!r}, and {there} has another name before; keep one")
    return names


def names_here(
    path: Path, before: Mapping[str, str | None], here: Collection[str], names: Mapping[str, str]
) -> dict[str, str]:
    """Return the name in this annotation of each assessor of the annotation in ``path``; the adjudicator is one.

    ``before`` has these assessors, with the name under which they were added before, if they were; that name stays, and
    others are those of ``names`` (:func:`parse_names`). ``here`` are the names of this annotation. Raises
    :class:`UsageError` for a name that is in both, where nothing says whether it is one person's.
    """
    new_names: dict[str, str] = {}
    problems = []
    for name, name_before in sorted(before.items()):
        new_name = name if name == ADJUDICATED else name_before or names.get(name) or name
        new_names[name] = new_name
        if names.get(name, new_name) != new_name:
            again = f"give rename='{new_name}={names[name]}' to make it so"
            problems.append(f"{path}: {name} was added as {new_name} before, now {names[name]} is given; {again}")
        if name in here and new_name == name != ADJUDICATED and not name_before and name not in names:
            problems.append(
                f"names: {path}: {name} has judged here too; give names='{name}={name}' if that is one person, "
                f"or a name for the other, names='{name}={name} 2'"
            )
    for new_name, count in Counter(new_names.values()).items():
        if count > 1:
            same = " and ".join(name for name in new_names if new_names[name] == new_name)
            problems.append(f"names: {path}: {same} would both be {new_name} here; give them two names")
    fail(problems, UsageError)
    return new_names


def tabbed_lines(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield of each line with text its place, and what is before and after its first tab."""
    for line_no, line in read_lines(path):
        first, _, rest = map(str.strip, line.strip().partition("\t"))
        if first:
            yield f"{path}, line {line_no}", first, rest


def read_assigned(path: Path, pool: Pool, withdrawn: Collection[str] = ()) -> dict[str, list[str]]:
    """Return the assessors of each topic, from lines ``qid<TAB>assessor``: a topic may have several, judging blind.

    Those of ``withdrawn`` topics are left out, with a line in the log. Raises :class:`DataError` naming every line that
    is of another form or of a topic that the pool lacks, and for a file without any line.
    """
    assigned: dict[str, list[str]] = {}
    problems, left_out = [], []
    for place, qid, name in tabbed_lines(path):
        if name and qid in withdrawn:
            left_out.append(qid)
            continue
        if not name or qid not in pool:
            problem = f"topic {qid} is not in the pool" if name else f"found {qid!r}"
            problems.append(f"{place}: {problem}, expected a topic of the pool, a tab, and an assessor")
            continue
        try:
            assessor = refuse_reserved(check_name(name))
        except UsageError as error:
            problems.append(f"{place}: {error}")
            continue
        if assessor not in assigned.setdefault(qid, []):
            assigned[qid].append(assessor)
    fail(problems or ([] if assigned else [f"{path}: empty; expected lines of a topic, a tab, and an assessor"]))
    if left_out:
        log.info(f"{path}: withdrawn topics are left out: {brief([*dict.fromkeys(left_out)])}")
    return assigned


Withdrawn = Set[tuple[str, str]]  # topics and docids; without a docid a whole topic


def read_withdrawn(path: Path, pool: Pool) -> Withdrawn:
    """Return the topics and documents in lines of a topic, or of a topic, a tab and a docid; there may be none.

    Raises :class:`DataError` naming every line that is of nothing in ``pool``.
    """
    withdrawn: set[tuple[str, str]] = set()
    problems = []
    for place, qid, docid in tabbed_lines(path):
        if qid not in pool or docid not in {"", *pool[qid]}:
            absent = f"document {docid} of topic {qid}" if docid else f"topic {qid}"
            problems.append(f"{place}: {absent} is not in the pool; expected a topic, or a topic, a tab and a docid")
        withdrawn.add((qid, docid))
    fail(problems)
    return withdrawn


SHOWN_TEXT = 40  # characters of a text in a message
CONDITIONS = ("original", "changed")  # what is judged: the narrative as it was given, and as it was edited

# NeuCLIR's and HC4's levels by their guidelines: 3 belongs into the lead of a report on the topic, 1 elsewhere in it
LABELS = {
    (0, 1): ("not relevant", "relevant"),
    (0, 1, 2): ("not relevant", "relevant", "highly relevant"),
    (0, 1, 3): ("not relevant", "somewhat relevant", "fully relevant"),
    (0, 1, 2, 3): ("not relevant", "marginally relevant", "relevant", "highly relevant"),
}


class Grade(NamedTuple):
    """A grade, which is a key of the keyboard, and its label on the page."""

    grade: int
    label: str


Scale = tuple[Grade, ...]


def parse_scale(text: str) -> Scale:
    """Return the grades of ``0,1,3`` or ``0=off topic,1=on topic``, ascending.

    Raises :class:`UsageError` unless they are two or more different digits with 0 among them, and different labels:
    each is a key of the keyboard, and a positive grade means relevant everywhere in Heed.
    """
    parts = [part.partition("=") for part in text.split(",")]
    digits = [digit.strip() for digit, _, _ in parts]
    if any(digit not in [*"0123456789"] for digit in digits) or len({*digits}) < len(digits) or digits[1:] == []:
        raise UsageError(f"grades: found {text!r}, expected two or more different digits, such as 0,1,3")
    if "0" not in digits:
        raise UsageError(f"grades: found {text!r}, and 0 is missing, which means not relevant")
    grades = tuple(sorted(map(int, digits)))
    usual = {0: "not relevant", **dict(zip(grades, LABELS.get(grades, ()), strict=False))}
    labels_of = {int(digit): label.strip() for digit, (_, _, label) in zip(digits, parts, strict=True)}
    scale = tuple(Grade(grade, labels_of[grade] or usual.get(grade, f"grade {grade}")) for grade in grades)
    labels = Counter(grade.label.casefold() for grade in scale)
    twice = [f"{grade.grade} {grade.label}" for grade in scale if labels[grade.label.casefold()] > 1]
    if twice:
        raise UsageError(f"grades: found {text!r}, a label twice ({', '.join(twice)}); name each differently")
    return scale


class PooledDocument(NamedTuple):
    """A document as an assessor sees it; ``date`` may be empty, ``tabular`` says that it is displayed as a table."""

    docid: str
    title: str
    date: str
    text: str
    tabular: bool

    @property
    def version(self) -> str:
        """A digest of all of it, by which a grade says what it was given for."""
        return digest_json(self)[:16]


class Passage(msgspec.Struct, forbid_unknown_fields=True):
    """The passage of a document that decided a grade; ``start`` and ``end`` are characters of its title or its text."""

    part: Literal["title", "text"]
    start: Annotated[int, msgspec.Meta(ge=0)]
    end: int
    text: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_PASSAGE)]

    def is_of(self, document: PooledDocument | Document | None) -> bool:
        """Whether the document has the passage."""
        is_whole = document is not None and self.end - self.start == len(self.text)
        return is_whole and getattr(document, self.part)[self.start : self.end] == self.text


@dataclass(frozen=True)
class Task:
    """The content of a database, and which of its documents are to be judged.

    ``topics`` are those of the pool and their bare queries, in the order of the topics file; ``lang`` is the
    documents' language (ISO 639-3), but for the topics that have another in ``langs``; ``qrels`` are the given
    judgements of the pool's topics. With ``only_relevant`` only documents with a positive grade in ``qrels`` are to be
    judged. ``assigned`` are the names of each topic's assessors, who judge blind to one another; empty where everybody
    judges everything.
    """

    pool: Pool
    topics: dict[str, Topic]
    lang: str
    scale: Scale
    qrels: Qrels = field(default_factory=dict)
    only_relevant: bool = False
    assigned: dict[str, list[str]] = field(default_factory=dict)
    langs: dict[str, str] = field(default_factory=dict)

    def lang_of(self, qid: str) -> str:
        """Return the language of a topic's documents."""
        return self.langs.get(qid, self.lang)

    def grades(self) -> list[int]:
        """Return the grades of the scale."""
        return [grade.grade for grade in self.scale]

    def to_judge(self, qid: str) -> list[str]:
        """Return the docids of a topic that are to be judged, in the pool's order."""
        if not self.only_relevant:
            return self.pool[qid]
        grades = self.qrels.get(qid, {})
        return [docid for docid in self.pool[qid] if grades.get(docid, 0) > 0]

    def topics_of(self, assessor: str) -> list[str]:
        """Return the qids that an assessor judges: those assigned to him, or all where none are assigned."""
        return [qid for qid in self.pool if not self.assigned or assessor in self.assigned.get(qid, ())]

    def conditions(self) -> tuple[str, ...]:
        """Return the conditions under which documents are judged."""
        return CONDITIONS[1:] if self.only_relevant else CONDITIONS

    def docids(self) -> list[str]:
        """Return every pooled document once."""
        return list(dict.fromkeys(docid for docids in self.pool.values() for docid in docids))

    def original(self, qid: str) -> str:
        """Return the original narrative; empty if the topic has none."""
        return self.topics[qid].instructions.get("original", "")

    def first_changed(self, qid: str) -> str:
        """Return the text that editing starts from: the topic's changed narrative, else the original."""
        return self.topics[qid].instructions.get("changed", "") or self.original(qid)


def dump_task(task: Task) -> dict[str, str]:
    """Return the task as texts for a table of names and values."""
    return {
        "pool": _json(task.pool),
        "topics": _json([topic._asdict() for topic in task.topics.values()]),
        "lang": task.lang,
        "langs": _json(task.langs),
        "scale": _json(task.scale),
        "given": _json(task.qrels),
    }


def load_task(stored: dict[str, str], only_relevant: bool = False) -> Task:
    """Return the task that :func:`dump_task` stored."""
    topics = [
        Topic(**{**fields, "readings": msgspec.convert(fields.get("readings", {}), dict[str, tuple[Span, ...]])})
        for fields in json.loads(stored["topics"])
    ]
    return Task(
        pool=json.loads(stored["pool"]),
        topics={topic.qid: topic for topic in topics},
        lang=stored["lang"],
        scale=tuple(Grade(*grade) for grade in json.loads(stored["scale"])),
        qrels=json.loads(stored["given"]),
        only_relevant=only_relevant,
        assigned=json.loads(stored.get("assigned", "{}")),
        langs=json.loads(stored.get("langs", "{}")),
    )


def in_force(task: Task, withdrawn: Withdrawn) -> Task:
    """Return the task without what is ``withdrawn``."""
    if not withdrawn:
        return task
    pool = {
        qid: [docid for docid in docids if (qid, docid) not in withdrawn]
        for qid, docids in task.pool.items()
        if (qid, "") not in withdrawn
    }
    qids = {*pool, *(task.topics[qid].base for qid in pool)}
    topics = {qid: topic for qid, topic in task.topics.items() if qid in qids}
    qrels = {
        qid: {docid: grade for docid, grade in grades.items() if (qid, docid) not in withdrawn}
        for qid, grades in task.qrels.items()
        if qid in pool
    }
    return replace(task, pool=pool, topics=topics, qrels=qrels)


def join_pools(first: Pool, later: Pool) -> Pool:
    """Return the topics of ``first``, then new ones of ``later``, each with the documents of both in this order."""
    return {qid: [*dict.fromkeys([*first.get(qid, []), *later.get(qid, [])])] for qid in [*first, *later]}


def new_in(later: Pool, first: Pool) -> Pool:
    """Return the documents of ``later`` that ``first`` lacks, without topics that have none."""
    known = {qid: {*docids} for qid, docids in first.items()}
    new = {qid: [docid for docid in docids if docid not in known.get(qid, ())] for qid, docids in later.items()}
    return {qid: docids for qid, docids in new.items() if docids}


class Edits(NamedTuple):
    """The changed narratives that a topic has or had, and ``by`` what is said of who made the current one."""

    texts: Sequence[str] = ()
    by: str = ""


def task_differences(task: Task, other: Task, edits: Mapping[str, Edits]) -> list[str]:
    """Return the differences that keep judgements of ``other`` from counting for ``task``, each as a sentence.

    A changed narrative may also be one of the topic's ``edits``: an export writes the current one into its topics.
    """
    unknown = [qid for qid in other.pool if qid not in task.pool]
    here = f"the database, which has {brief([*task.pool])}{number_hint(unknown, task.pool)}"
    sentences = [f"topics {brief(unknown)} are not in {here}"] if unknown else []
    for qid, topic in other.topics.items():
        differing = topic_differences(task.topics[qid], topic, edits.get(qid, Edits())) if qid in task.topics else []
        sentences += [f"topic {qid} has {', '.join(differing)}"] if differing else []
    langs = {(other.lang_of(qid), task.lang_of(qid)) for qid in other.pool if qid in task.pool}
    for there, here in sorted(langs):
        sentences += [f"documents in {there}, not {here}"] if there != here else []
    if other.scale != task.scale:
        scales = (", ".join(f"{grade}={label}" for grade, label in scale) for scale in (other.scale, task.scale))
        sentences.append(f"grades {'; those of the database are '.join(scales)}")
    judged = [qid for qid in other.qrels if task.qrels and other.qrels[qid] != task.qrels.get(qid)]
    return [*sentences, f"other given judgements of topics {brief(judged)}"] if judged else sentences


def topic_differences(stored: Topic, topic: Topic, edits: Edits) -> list[str]:
    """Return the parts in which a topic is not the ``stored`` one; its changed narrative may be one of ``edits``."""
    texts = [("language", stored.lang, topic.lang), ("query", stored.query, topic.query)]
    before, now = stored.instructions, topic.instructions
    texts += [(f"{name} narrative", before.get(name, ""), now.get(name, "")) for name in CONDITIONS]
    if stored.description and topic.description:  # older databases and exports have none
        texts.append(("description", stored.description, topic.description))
    # by words: earlier versions of Heed read other line breaks
    differing = [(name, before, now) for name, before, now in texts if before.split() != now.split()]
    changed = f"{CONDITIONS[1]} narrative"
    if topic.instructions.get("changed", "").split() in [edit.split() for edit in edits.texts]:
        differing = [text for text in differing if text[0] != changed]
    return [
        f"{name} {_excerpt(now, before)}, not {_excerpt(before, now)}{edits.by if name == changed else ''}"
        for name, before, now in differing
    ]


def _excerpt(text: str, other: str) -> str:
    """Return a text in quotation marks, a long one around the place from which it differs from the ``other``."""
    text, other = " ".join(text.split()), " ".join(other.split())
    same = next((index for index, (sign, others) in enumerate(zip_longest(text, other)) if sign != others), 0)
    start = max(0, same - SHOWN_TEXT // 2) if len(text) > SHOWN_TEXT else 0
    shown = text[start : start + SHOWN_TEXT]
    return f"'{'…' * (start > 0)}{shown}{'…' * (start + len(shown) < len(text))}'" if text else "none"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
