"""How a system of a paper's table runs: one description, of which the command and the calls of the library are made."""

from pathlib import Path
from typing import NamedTuple

from heed.addons.published.paper_tables import Figure
from heed.datasets.catalogue import Catalogue
from heed.datasets.followir import CROSS_LINGUAL

FIRST_STAGES = {"followtable": "Qwen/Qwen3-Embedding-0.6B", "infosearch": "intfloat/e5-mistral-7b-instruct"}
FIRST_STAGE_DEPTH = 100


class Setting(NamedTuple):
    """How a system of a paper runs on one subset: a collection of :func:`heed.load` with its arguments, and systems.

    ``model`` reranks the best of ``first_stage``, or the published candidates; else it searches. ``whole`` is whether
    it searches the whole TREC collection, which a user names.
    """

    collection: str
    model: str
    first_stage: str = ""
    candidates: bool = False
    whole: bool = False
    lang: str | None = None
    subset: str | None = None
    dimension: str | None = None
    data: Path | None = None

    @property
    def reranker(self) -> str:
        """The model as a reranker, empty where it searches; BM25 weighs candidates by all of them."""
        if not (self.first_stage or self.candidates):
            return ""
        return "rank_bm25" if self.model == "bm25" else self.model

    def arguments(self) -> list[str]:
        """Return the arguments of ``heed`` that run it."""
        return [*self._of_collection(), *self._of_systems()]

    def _of_collection(self) -> list[str]:
        data = ["--data", str(self.data)] if self.data else []
        if self.collection == "followtable":
            return ["tables", *(data or ["--subset", str(self.subset)])]
        if self.collection == "infosearch":
            return ["infosearch", "--dimension", str(self.dimension), *data]
        if self.lang:
            english = ["--query-lang", "eng"] if self.collection == CROSS_LINGUAL else []
            topics = str(self.data or Catalogue().entries[self.collection].hub)
            return ["neuclir", "--lang", self.lang, "--topics", topics, "--topics-format", "mfollowir", *english]
        return ["trec", "--benchmark", self.collection, *data, *(["--docs", "COLLECTION"] if self.whole else [])]

    def _of_systems(self) -> list[str]:
        if self.candidates:
            return ["--pool", "published", "--retriever", "none", "--reranker", self.reranker]
        if self.first_stage:
            depth = str(FIRST_STAGE_DEPTH)
            return ["--retriever", self.first_stage, "--reranker", self.reranker, "--rerank-depth", depth]
        return ["--retriever", self.model, "--reranker", "none"]


def setting_of(paper: str, table: str, subset: str, model: str, figure: Figure, data: Path | None) -> Setting:
    """Return how a paper's system runs on one subset."""
    if data and (data / subset).is_dir():
        data = data / subset
    if paper == "followtable":
        stage = FIRST_STAGES[paper] if table == "Table 5" and figure.group else ""
        return Setting(paper, model, stage, subset=None if data else subset, data=data)
    if paper == "infosearch":
        stage = "" if figure.group in (None, "Dense Retrieval") else FIRST_STAGES[paper]
        return Setting(paper, model, stage, dimension=subset, data=data)
    if figure.setting == "full collection":
        return Setting(f"followir/{subset}", model, whole=True, data=data)
    if paper == "followir":
        return Setting(f"followir/{subset}", model, candidates=True, data=data)
    collection = CROSS_LINGUAL if figure.setting == "en-xx" else "mfollowir"
    return Setting(collection, model, candidates=True, lang=subset, data=data)
