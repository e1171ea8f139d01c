"""A collection: documents, topics, and what runs over them are judged by."""

from dataclasses import dataclass, field

from heed.evaluation.evaluate import Judging
from heed.io.documents import Source
from heed.languages import Language
from heed.types import JOIN, Topic


@dataclass(frozen=True)
class Collection:
    """Documents, topics and qrels by condition.

    Results go to ``<out>/<name>/<subset>/``, indexes to ``<indexes>/<name>/<index>/``. ``candidates`` are
    published lists by qid, which rerankers rescore by default if ``reranked`` is true; ``join`` is how
    query and instruction become one text for systems without a template.
    """

    name: str
    subset: str
    index: str
    language: Language
    source: Source
    topics: list[Topic]
    judging: Judging
    candidates: dict[str, list[str]] = field(default_factory=dict)
    reranked: bool = False
    join: str = JOIN
