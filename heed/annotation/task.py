"""What is judged: a pool, its topics, the scale of grades, and the judgements that came with it."""

import json
from dataclasses import dataclass, field
from typing import NamedTuple

from heed.errors import HeedError
from heed.io.files import digest_json
from heed.io.pools import Pool
from heed.types import Qrels, Topic

CONDITIONS = ("original", "changed")  # what an assessor judges under: the narrative as it came, and as it was edited

# NeuCLIR's and HC4's levels by their guidelines: 3 belongs into the lead of a report on the topic, 1 elsewhere in it
LABELS = {
    (0, 1): ("not relevant", "relevant"),
    (0, 1, 2): ("not relevant", "relevant", "highly relevant"),
    (0, 1, 3): ("not relevant", "somewhat relevant", "fully relevant"),
    (0, 1, 2, 3): ("not relevant", "marginally relevant", "relevant", "highly relevant"),
}


class Grade(NamedTuple):
    """A grade, given by its own key, and what the page calls it."""

    grade: int
    label: str


Scale = tuple[Grade, ...]


def parse_scale(text: str) -> Scale:
    """The grades of ``0,1,3`` or ``0=off topic,1=on topic``, ascending.

    Raises :class:`HeedError` unless they are two or more different digits with 0 among them: each is a key of the
    keyboard, and a positive grade means relevant everywhere in Heed.
    """
    parts = [part.partition("=") for part in text.split(",")]
    digits = [digit.strip() for digit, _, _ in parts]
    if any(digit not in [*"0123456789"] for digit in digits) or len({*digits}) < len(digits) or digits[1:] == []:
        raise HeedError(f"--grades {text!r}: expected two or more different digits with commas between, such as 0,1,3")
    if "0" not in digits:
        raise HeedError(f"--grades {text!r}: 0 is missing; it stands for not relevant")
    grades = tuple(sorted(map(int, digits)))
    usual = dict(zip(grades, LABELS.get(grades, ()), strict=False))
    told = {int(digit): label.strip() for digit, (_, _, label) in zip(digits, parts, strict=True)}
    return tuple(Grade(one, told[one] or usual.get(one) or _plain(one)) for one in grades)


def _plain(grade: int) -> str:
    return f"grade {grade}" if grade else "not relevant"


@dataclass(frozen=True)
class Task:
    """What a database holds for good, and how it is shown.

    ``topics`` are those of the pool and their bare queries, in the order of the topics file; ``lang`` is the
    documents' language (ISO 639-3); ``given`` are the judgements of ``--qrels`` for the pool's topics. With
    ``only_relevant`` those documents alone are shown that ``given`` has a positive grade for.
    """

    pool: Pool
    topics: dict[str, Topic]
    lang: str
    scale: Scale
    given: Qrels = field(default_factory=dict)
    only_relevant: bool = False

    def shown(self, qid: str) -> list[str]:
        """The documents of a topic that are to be judged, in the pool's order."""
        if not self.only_relevant:
            return self.pool[qid]
        grades = self.given.get(qid, {})
        return [docid for docid in self.pool[qid] if grades.get(docid, 0) > 0]

    def judged_under(self) -> tuple[str, ...]:
        """The conditions under which grades are taken."""
        return CONDITIONS[1:] if self.only_relevant else CONDITIONS

    def docids(self) -> list[str]:
        """Every pooled document once."""
        return list(dict.fromkeys(docid for docids in self.pool.values() for docid in docids))

    def original(self, qid: str) -> str:
        """The narrative as it came; empty where the topic has none."""
        return self.topics[qid].instructions.get("original", "")

    def first_changed(self, qid: str) -> str:
        """Where editing starts: the changed narrative that came with the topic, else the original."""
        return self.topics[qid].instructions.get("changed", "") or self.original(qid)


def dump_task(task: Task) -> dict[str, str]:
    """The task as texts that a table of names and values can hold; of the pool the digest."""
    return {
        "pool": digest_json(task.pool),
        "topics": _json([one._asdict() for one in task.topics.values()]),
        "lang": task.lang,
        "scale": _json(task.scale),
        "given": _json(task.given),
    }


def load_task(kept: dict[str, str], pool: Pool, only_relevant: bool) -> Task:
    """The task that :func:`dump_task` wrote, with its pool."""
    topics = [Topic(**fields) for fields in json.loads(kept["topics"])]
    return Task(
        pool=pool,
        topics={topic.qid: topic for topic in topics},
        lang=kept["lang"],
        scale=tuple(Grade(*one) for one in json.loads(kept["scale"])),
        given=json.loads(kept["given"]),
        only_relevant=only_relevant,
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
