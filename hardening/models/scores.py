"""The scores of a case: by Heed, and by sentence-transformers or transformers called directly.

Where Heed differs on purpose, the libraries get what it documents: query and instruction joined by a space, title and
text joined by a space, no white space at a text's ends, and a pair cut at its document alone.
"""

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from hardening.models.folders import Case
from heed.compute import Compute
from heed.models.registry.entries import Registry
from heed.systems.make import Place, make
from heed.types import Document, Query, Reranker

Score = Callable[[str, str], float]  # of a query and a text
MOST = 2048  # tokens of a prompt without another limit
ONLY_DOCUMENT = {"text": {"padding": True, "truncation": "only_second"}}


def heed_scores(case: Case) -> list[float]:
    """Return Heed's score of each document."""
    place = Place(Registry(defaults=case.entry), Compute("cpu", case.dtype))
    reranker = make(str(case.folder), place, Reranker)
    documents = case.texts.documents
    try:
        parts = [[one] for one in documents] if case.alone else [documents]
        return [score for part in parts for score in reranker.score(case.texts.query, part)]
    finally:
        reranker.close()


def library_scores(case: Case) -> tuple[list[float], Exception | None]:
    """Return the libraries' score of each document read alone, nan where they raise an error, and the last error."""
    query, score, scores, last = query_text(case.texts.query), LIBRARIES[case.use](case), [], None
    for document in case.texts.documents:
        try:
            scores.append(score(query, document_text(document)))
        except Exception as error:  # whatever it is, it is compared
            scores.append(math.nan)
            last = error
    return scores, last


def query_text(query: Query) -> str:
    """Return query and instruction as Heed joins them."""
    return f"{query.query} {query.instruction}".strip()


def document_text(document: Document) -> str:
    """Return title and text as Heed joins them."""
    return f"{document.title} {document.text}".strip()


def _options(case: Case) -> dict[str, Any]:
    return {"device": "cpu", "local_files_only": True, "model_kwargs": {"dtype": case.dtype}}


def _bi_encoder(case: Case) -> Score:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(case.reference), **_options(case))
    if case.entry.get("max_length"):
        model.max_seq_length = case.entry["max_length"]
    return _similarity(model)


def _late_interaction(case: Case) -> Score:
    from sentence_transformers import MultiVectorEncoder

    return _similarity(MultiVectorEncoder(str(case.reference), **_options(case)))


def _similarity(model: Any) -> Score:
    """Return a function that compares vectors in float32, whatever they were computed in, as Heed documents."""
    import torch

    def score(query: str, text: str) -> float:
        asked = model.encode_query([query], show_progress_bar=False, convert_to_numpy=True)
        read = model.encode_document([text], show_progress_bar=False, convert_to_numpy=True)
        pair = ([torch.from_numpy(vectors).float() for vectors in side] for side in (asked, read))
        return float(model.similarity(*pair)[0, 0])

    return score


def _cross_encoder(case: Case) -> Score:
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity

    model = CrossEncoder(str(case.reference), max_length=case.entry.get("max_length"), **_options(case))
    label = case.entry.get("label", 0)

    def score(query: str, text: str) -> float:
        [logits] = model.predict(
            [(query, text)], activation_fn=Identity(), show_progress_bar=False, processing_kwargs=ONLY_DOCUMENT
        ).tolist()
        return _log_odds(logits, label) if isinstance(logits, list) else float(logits)

    return score


def _log_odds(logits: list[float], label: int) -> float:
    others = [logit for at, logit in enumerate(logits) if at != label]
    return logits[label] - math.log(sum(map(math.exp, others)))


def _yes_no(case: Case) -> Score:
    """Return a function that reads a prompt; the output layer alone is in float32, as Heed documents."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    kind = AutoModelForCausalLM if case.use == "y" else AutoModelForSeq2SeqLM
    network = kind.from_pretrained(case.reference, dtype=case.dtype, local_files_only=True).eval()
    head = deepcopy(network.get_output_embeddings()).float()
    head.register_forward_pre_hook(lambda _, inputs: (inputs[0].float(),))
    network.set_output_embeddings(head)
    tokenizer = AutoTokenizer.from_pretrained(case.reference, local_files_only=True)
    entries = [tokenizer.get_vocab()[token] for token in case.entry["tokens"]]
    positions = getattr(network.config, "max_position_embeddings", None) or MOST
    limit = case.entry.get("max_length") or min(MOST, tokenizer.model_max_length, positions)
    start = {"decoder_input_ids": torch.tensor([[network.config.decoder_start_token_id]])} if case.use == "s" else {}

    def score(query: str, text: str) -> float:
        ids = _prompt(tokenizer, case.entry["prompt"].replace("{query}", query), text, limit)
        with torch.inference_mode():
            row = network(input_ids=torch.tensor([ids]), **start).logits[0, -1, entries].tolist()
        return float(row[1] - row[0] if len(row) == 2 else row[0])

    return score


def _prompt(tokenizer: Any, prompt: str, text: str, limit: int) -> list[int]:
    """Return the ids of ``prompt`` with as much of ``text`` as fits into ``limit`` tokens."""

    def ids(part: str) -> list[int]:
        found: list[int] = tokenizer(prompt.replace("{document}", part), verbose=False)["input_ids"]
        return found

    offsets = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)["offset_mapping"]
    part, count = text, limit - len(ids(""))
    while len(found := ids(part)) > limit:
        if count < 1:
            raise ValueError("no room for a document")
        part, count = text[: offsets[min(count, len(offsets)) - 1][1]].rstrip(), count - 1
    return found


LIBRARIES = {"b": _bi_encoder, "c": _cross_encoder, "l": _late_interaction, "y": _yes_no, "s": _yes_no}
