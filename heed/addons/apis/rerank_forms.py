"""How rerank servers are asked and how they answer, as data: services, and servers of one's own."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from heed.addons.apis.endpoints import Provider
from heed.errors import ModelError
from heed.models.registry.entries import Model

PATH = "rerank"
# None of the four services was called from here; what follows is what their documentation says (2026-11)
SERVICES = {
    # docs.cohere.com/reference/rerank: cuts documents at max_tokens_per_doc
    "cohere": Provider("COHERE_API_KEY", "COHERE_RERANK_BASE_URL", "https://api.cohere.com/v2", cuts=True),
    # jina.ai/reranker and api.jina.ai/docs
    "jina": Provider("JINA_API_KEY", "JINA_BASE_URL", "https://api.jina.ai/v1", cuts=True),
    # docs.voyageai.com/reference/reranker-api: truncation is the default, and cuts queries of 8,000 tokens or more
    "voyage": Provider("VOYAGE_API_KEY", "VOYAGE_BASE_URL", "https://api.voyageai.com/v1", cuts=True),
    # docs.contextual.ai/api-reference/rerank/rerank
    "contextual": Provider("CONTEXTUAL_API_KEY", "CONTEXTUAL_BASE_URL", "https://api.contextual.ai/v1"),
}
SERVER = Provider("RERANK_API_KEY", "RERANK_BASE_URL", "")  # a server of one's own


class RerankForm(NamedTuple):
    """The JSON of a rerank server.

    ``documents`` is the field of the texts; ``results`` that of the answer's list (empty: the answer is the list),
    whose items have ``index`` and ``score``. ``instruction`` is the field of the instruction; where there is none it
    is part of the query, as the entry's template has it. ``extra`` goes into every request; a request has at most
    ``most`` documents, and the model's name if ``names_model``.
    """

    documents: str = "documents"
    results: str = "results"
    score: str = "relevance_score"
    instruction: str = ""
    extra: Mapping[str, Any] = {}
    most: int = 100
    names_model: bool = True


FORMS = {
    "cohere": RerankForm(),  # of 100 documents at once: what Cohere counts as one search
    "jina": RerankForm(extra={"return_documents": False}),
    "voyage": RerankForm(results="data"),
    "contextual": RerankForm(instruction="instruction"),
    # vllm/entrypoints/pooling/scoring/protocol.py, RerankRequest: no field for an instruction. Logits, since a
    # sigmoid's single precision makes ties that the model did not mean
    "vllm": RerankForm(extra={"use_activation": False}),
    # infinity_emb 0.0.78, fastapi_schemas/pymodels.py, RerankInput
    "infinity": RerankForm(extra={"raw_scores": True}),
    # huggingface.github.io/text-embeddings-inference: 32 texts are its --max-client-batch-size where nobody sets it
    "tei": RerankForm("texts", "", "score", extra={"raw_scores": True, "truncate": True}, most=32, names_model=False),
}
PLAIN = "cohere"  # the form of servers whose entry names none: nothing but model, query and documents is sent


def form_name(model: Model) -> str:
    """Return the name of the form that ``model`` is asked in: its entry's ``api``, its service's, or ``PLAIN``.

    Raises :class:`ModelError` for an ``api`` that is none of ``FORMS``.
    """
    owner = model.source.partition("/")[0]
    name = model.api or (owner if owner in SERVICES and model.status == "api" else PLAIN)
    if name not in FORMS:
        raise ModelError(f"{model.source}: api is {name!r}, expected one of {', '.join(FORMS)}")
    return name


def instruction_field(model: Model) -> str:
    """Return the field that the instruction is sent in; empty where it is part of the query.

    A ``query`` template of the entry is preferred to the field.
    """
    return "" if model.query is not None else FORMS[form_name(model)].instruction


def read_scores(form: RerankForm, answer: Any, count: int) -> list[float]:
    """Return the scores of ``count`` documents in their order.

    Raises ValueError, KeyError or TypeError for an answer without one finite number for each document.
    """
    rows = answer[form.results] if form.results else answer
    scores = {row["index"]: row[form.score] for row in rows}
    if len(rows) != count:
        raise ValueError(f"{len(rows)} scores for {count} documents")
    for index in range(count):
        if type(scores.get(index)) not in (int, float) or not math.isfinite(scores[index]):
            raise ValueError(f"score {scores.get(index)!r} at index {index}, expected a finite number")
    return [float(scores[index]) for index in range(count)]
