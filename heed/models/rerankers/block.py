"""Rerankers that read many documents in one prompt and score each by its state there: jina-reranker v3 and v3.5.

The prompt, its two special tokens and the joining of blocks are those of modeling.py in the model's repository.
"""

import logging
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from heed.errors import ModelError
from heed.models.files import loading, local_copy
from heed.models.language_models import LanguageModel, load_config, load_network
from heed.models.registry.entries import Model
from heed.models.text import TAKE, Cutter, query_text, room_for_document
from heed.models.weights import tensors_in
from heed.progress import logging_only
from heed.reuse import recipe_version
from heed.types import Config, Document, Query, Reranker, placed

BLOCK = 64  # documents of a prompt where the entry does not say: the most that the models' cards allow
PASSAGE, ASKED = "<|embed_token|>", "<|rerank_token|>"  # their states stand for a document and for the query
OPENING = (
    "<|im_start|>system\nYou are a search relevance expert who can determine a ranking of the passages based on how "
    "relevant they are to the query. If the query is a question, how relevant a passage is depends on how well it "
    "answers the question. If not, try to analyze the intent of the query and assess how well each passage satisfies "
    "the intent. If an instruction is provided, you should follow the instruction when determining the "
    "ranking.<|im_end|>\n<|im_start|>user\nI will provide you with {num} passages, each indicated by a numerical "
    "identifier. Rank the passages based on their relevance to query: {query}\n"
)
INSTRUCTION = "<instruct>\n{instruction}\n</instruct>\n"
DOCUMENT, DOCUMENT_END = f'<passage id="{{id}}">\n{{document}}{PASSAGE}', "\n</passage>\n"
CLOSING = (f"<query>\n{{query}}{ASKED}", "\n</query><|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n")
PROJECTION = ("0.weight", "2.weight")


def block_text(model: Model, query: str, instruction: str, documents: Sequence[str]) -> str:
    """Return the prompt about ``documents``; without an ``instruction`` it has no place for one."""
    return "".join(_parts(*_query_parts(model, query, instruction), documents))


class BlockReranker(LanguageModel, Reranker):
    """A model of family ``block`` as a :class:`heed.types.Reranker`.

    A score is the cosine of the projected states of a document and of the query, so it depends on the documents of
    the same prompt and on their order. Blocks are consecutive documents in the pool's order, as many as have room and
    at most the entry's ``block``; a topic is read as a whole, whatever the number of workers. Where a topic has
    several blocks, the query's state is the mean of theirs, weighted with ``(1 + best score) / 2`` of each.
    """

    def _recipe(self) -> Config:
        return {"block": [recipe_version("block"), self._model.block or BLOCK]}

    @cached_property
    def _cutter(self) -> Cutter:
        return Cutter(self._model, self._tokenizer)

    @cached_property
    def _limit(self) -> int:
        positions: int = load_config(self._model).max_position_embeddings
        return min(self._model.max_length or positions, positions, int(self._tokenizer.model_max_length))

    @cached_property
    def _marks(self) -> tuple[int, int]:
        """The ids of the two special tokens; :class:`ModelError` for a vocabulary without them."""
        vocabulary = self._tokenizer.get_vocab()
        if not {PASSAGE, ASKED} <= vocabulary.keys():
            source = self._model.source
            raise ModelError(f"{source}: no {PASSAGE} and {ASKED} in its vocabulary; expected a jina-reranker v3")
        return vocabulary[PASSAGE], vocabulary[ASKED]

    def _load(self) -> Any:
        """Return the network and its projection; :class:`ModelError` without the special tokens or a weight."""
        from transformers import AutoModel

        _ = self._cutter, self._marks  # checked before weights are read
        projection = _projection(self._model, self._compute.torch_device)
        # without transformers' report of weights, for which the projection is unexpected; missing ones are an error
        with logging_only("transformers", logging.ERROR):
            return load_network(self._model, self._compute, AutoModel), projection

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        """Return a cosine for each of ``documents``, which are in the pool's order.

        Documents are cut at the entry's ``document_length``, a table between rows. Raises :class:`ModelError` where
        query and instruction leave no room for one.
        """
        if not documents:
            return []
        import torch
        from torch.nn.functional import cosine_similarity

        topic = f"{self.name}: topic {query.qid}"
        blocks = [self._states(ids) for ids in self.blocks(topic, query, documents)]
        bests = [cosine_similarity(states[:-1], states[-1], dim=-1).max() for states in blocks]
        weights = torch.stack([(1 + best) / 2 for best in bests])
        query_state = (weights[:, None] * torch.stack([states[-1] for states in blocks])).sum(0) / weights.sum()
        cosines = cosine_similarity(torch.cat([states[:-1] for states in blocks]), query_state, dim=-1)
        scores: list[float] = cosines.tolist()
        return scores

    def _states(self, ids: list[int]) -> Any:
        """Return the projected states of a block, ``(documents + 1, width)``; the last is the query's."""
        import torch

        network, (first, second) = self._loaded
        passage, query = self._marks
        prompt = torch.tensor([ids], device=network.device)
        with torch.inference_mode():
            states = network(input_ids=prompt, use_cache=False).last_hidden_state[0]
            marks = (prompt[0] == passage) | (prompt[0] == query)
            projected = torch.relu(states[marks].float() @ first.T) @ second.T
        return projected.double()

    def blocks(self, topic: str, query: Query, documents: Sequence[Document]) -> Iterator[list[int]]:
        """Yield the ids of each block's prompt; errors begin with ``topic``."""
        text_of_query, instruction = _query_parts(self._model, query.query, query.instruction)
        most = self._model.block or BLOCK
        # the number of documents in the opening has the most digits
        frame = self._cutter.count(_parts(text_of_query, instruction, [""] * most)[0])
        frame += sum(map(self._cutter.count, _parts(text_of_query, instruction, [])[1:]))
        wrapped = self._cutter.count(_parts("", "", [""] * most)[-3])
        room = room_for_document(topic, TAKE, frame + wrapped, self._limit)
        block: list[str] = []
        used = frame
        for document in documents:
            text = _plain(self._cutter.text(document, min(room, self._model.document_length or room)))
            length = wrapped + self._cutter.count(text)
            if block and (len(block) == most or used + length > self._limit):
                yield self._ids("".join(_parts(text_of_query, instruction, block)))
                block, used = [], frame
            block.append(text)
            used += length
        yield self._ids("".join(_parts(text_of_query, instruction, block)))


def _query_parts(model: Model, query: str, instruction: str) -> tuple[str, str]:
    """Return the texts of the query and of the instruction; a template of the entry has both in the query."""
    if model.query is not None:
        return _plain(query_text(model, query, instruction)), ""
    return _plain(query), _plain(instruction or model.task or "")


def _plain(text: str) -> str:
    """Return the text without the two special tokens, even those that arise thereby: no document may end itself."""
    while PASSAGE in text or ASKED in text:
        text = text.replace(PASSAGE, "").replace(ASKED, "")
    return text


def _parts(query: str, instruction: str, documents: Sequence[str]) -> list[str]:
    """Return the prompt in parts: its opening, one for each document, and the two of its closing."""
    opening = placed(OPENING, num=str(len(documents)), query=query)
    if instruction:
        opening += placed(INSTRUCTION, instruction=instruction)
    passages = [placed(DOCUMENT, id=str(number), document=text) + DOCUMENT_END for number, text in enumerate(documents)]
    return [opening, *passages, placed(CLOSING[0], query=query), CLOSING[1]]


def _projection(model: Model, device: str) -> tuple[Any, Any]:
    """Return the weights of the two layers that project a state, in float32; :class:`ModelError` without them."""
    with loading(model.source):
        weights = tensors_in(local_copy(model), "projector.")
    if not weights.keys() >= set(PROJECTION):
        names = " and ".join(f"projector.{name}" for name in PROJECTION)
        raise ModelError(f"{model.source}: no {names} in its weights; copy the whole model")
    first, second = (weights[name].float().to(device) for name in PROJECTION)
    return first, second
