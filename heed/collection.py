"""A collection: documents, topics, and the judgements and measures of its runs."""

from dataclasses import dataclass, field

from heed.evaluation.evaluate import Judging
from heed.io.documents import Source
from heed.languages import Language
from heed.types import JOIN, Topic


@dataclass(frozen=True)
class Collection:
    """Documents, topics and qrels by condition.

    Results go to ``<out>/<name>/<subset>/``, indexes to ``<indexes>/<name>/<index>/``; ``index`` defaults to
    ``subset``. ``candidates`` are published lists by qid, which rerankers rescore by default if ``reranked`` is
    true; ``join`` is how query and instruction become one text for systems without a template.
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

    def __post_init__(self) -> None:
        """Fill in ``index``."""
        object.__setattr__(self, "index", self.index or self.subset)
