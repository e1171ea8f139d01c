"""Tiny models in MTEB's registry, and an instruction task in memory that MTEB evaluates."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import heed
from heed.types import Document, Topic

TEXTS = ["a much longer text with numbers 12", "the true query document is relevant", "yes or no", "that names a river"]
DOCUMENTS = [
    Document(f"d{at:02}", "a text" if at % 2 else "", f"{one} {other}")
    for at, (one, other) in enumerate((one, other) for one in TEXTS for other in TEXTS if one != other)
]
TOPICS = [
    Topic("1", "eng", "a query", {"original": "only documents that name a river", "changed": "no numbers 12"}),
    Topic("2", "eng", "a text", {"original": "only longer documents", "changed": "only an answer yes or no"}),
]
RULED_OUT = {"1": ["d00", "d01", "d02", "d03"], "2": ["d04", "d05", "d06"]}
QRELS = {
    "original": {qid: {document.docid: 1 for document in DOCUMENTS} for qid in RULED_OUT},
    "changed": {
        qid: {document.docid: int(document.docid not in docids) for document in DOCUMENTS}
        for qid, docids in RULED_OUT.items()
    },
}


def experiment_in(folder: Path, depth: int, registry: heed.Registry | None = None) -> heed.Experiment:
    """An experiment with the topics and documents above, whose files are in ``folder``."""
    collection = heed.Collection(
        name="tiny",
        subset="eng",
        language=heed.language("eng"),
        source=heed.Documents(DOCUMENTS),
        topics=TOPICS,
        judging=heed.Judging(QRELS),
    )
    folders = {"out": folder / "runs", "indexes": folder / "indexes"}
    return heed.Experiment(collection, registry=registry, device="cpu", depth=depth, **folders)


@contextmanager
def registered(**models: tuple[str, Callable[..., Any]]) -> Iterator[None]:
    """Have MTEB know ``tiny/NAME`` inside the block: its ``model_type``, and what loads it."""
    from mteb.models import ModelMeta
    from mteb.models.model_implementations import MODEL_REGISTRY

    entries = {
        f"tiny/{name}": ModelMeta.create_empty(
            overwrites={"name": f"tiny/{name}", "revision": "1", "loader": loader, "model_type": [kind]}
        )
        for name, (kind, loader) in models.items()
    }
    with mock.patch.dict(MODEL_REGISTRY, entries):
        yield


def task() -> Any:
    """The topics and documents above as a task of MTEB's ``InstructionReranking``, as FollowIR's: p-MRR."""
    from datasets import Dataset
    from mteb._evaluators.retrieval_metrics import evaluate_p_mrr_change
    from mteb.abstasks import AbsTaskRetrieval
    from mteb.tasks.instruction_reranking.eng.core17_instruction_retrieval import Core17InstructionRetrieval

    queries = [
        {"id": f"{topic.qid}-{ending}", "text": topic.query, "instruction": topic.instructions[condition]}
        for topic in TOPICS
        for condition, ending in (("original", "og"), ("changed", "changed"))
    ]
    corpus = [{"id": one.docid, "title": one.title, "text": one.text} for one in DOCUMENTS]
    qrels = {
        f"{qid}-{ending}": dict(grades)
        for condition, ending in (("original", "og"), ("changed", "changed"))
        for qid, grades in QRELS[condition].items()
    }

    class InMemory(AbsTaskRetrieval):  # type: ignore[misc]
        metadata = Core17InstructionRetrieval.metadata.model_copy(update={"name": "InMemoryInstructionReranking"})

        def load_data(self, num_proc: int | None = None, **_: Any) -> None:
            top_ranked = {query["id"]: [one.docid for one in DOCUMENTS] for query in queries}
            split = {
                "corpus": Dataset.from_list(corpus),
                "queries": Dataset.from_list(queries),
                "relevant_docs": qrels,
                "top_ranked": top_ranked,
            }
            self.dataset = {"default": {"test": split}}
            self.data_loaded = True

        def task_specific_scores(self, scores: Any, qrels: Any, results: Any, hf_split: str, hf_subset: str) -> Any:
            return evaluate_p_mrr_change(qrels, results, RULED_OUT, self.k_values)

    return InMemory()
