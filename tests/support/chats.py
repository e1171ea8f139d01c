"""Chat models for tests of list-wise rerankers: a tiny Llama, its chat templates, and chats without a model."""

from pathlib import Path
from typing import Any

import torch
from model_inputs import CPU

from heed.models.registry.entries import Model
from heed.models.rerankers.listwise import Chat, Message
from heed.models.rerankers.listwise_local import LocalChat
from heed.types import Document

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}{{ eos_token }}\n"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "{% for message in messages %}[{{ message['role'] }}]{{ message['content'] | trim }}{% endfor %}"
)


ZEPHYR = (  # HuggingFaceH4/zephyr-7b-beta's and RankZephyr's, which begins with no <s>
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] + eos_token }}\n"
    "{% if loop.last and add_generation_prompt %}<|assistant|>\n{% endif %}{% endfor %}"
)


def tiny_llama(folder: Path, template: str | None, positions: int = 4096, begins: bool = False) -> Path:
    """A real Llama of two layers with random weights; its tokens are bytes; ``begins``: ``<s>`` is put before texts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {word: at for at, word in enumerate(["<unk>", "<s>", "</s>", *letters])}
    tokenizer = Tokenizer(models.BPE(words, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    if begins:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", chat_template=template
    )
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=positions,
        initializer_range=0.5,
        bos_token_id=1,
        eos_token_id=2,
    )
    torch.manual_seed(3)
    model = LlamaForCausalLM(config)
    # what a repository may well say, and must not decide a ranking
    model.generation_config.update(do_sample=True, temperature=0.7, repetition_penalty=1.3)
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


class Turned(Chat):
    """A chat that turns every window round."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {}

    def estimate(self) -> None: ...

    def shortened(self, document: Document) -> Document:
        return document

    def fits(self, conversation: list[Message], ranking: str) -> bool:
        return True

    def answer(self, conversation: list[Message], ranking: str) -> str:
        return " > ".join(reversed(ranking.split(" > ")))


class Saying(Turned):
    """A chat that gives one answer."""

    def __init__(self, reply: str) -> None:
        super().__init__()
        self.reply = reply

    def answer(self, conversation: list[Message], ranking: str) -> str:
        return self.reply


class Listening(LocalChat):
    """A local chat whose questions are listed, as conversations, texts and answers."""

    def __init__(self, model: Model, answers: bool = True) -> None:
        super().__init__(model, CPU)
        self.conversations: list[list[Message]] = []
        self.replies: list[str] = []
        self.answers = answers

    def answer(self, conversation: list[Message], ranking: str) -> str:
        self.conversations.append(conversation)
        self.replies.append(super().answer(conversation, ranking) if self.answers else "")
        return self.replies[-1]


def greedy(folder: Path, prompt: str, least: int, most: int, end: int = 2) -> list[int]:
    """The likeliest ids after ``prompt`` by plain transformers: ``least`` to ``most`` of them, or to ``end``."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    said: list[int] = []
    past = None
    while len(said) < most:
        with torch.no_grad():
            found = model(torch.tensor([said[-1:] or ids]), past_key_values=past, use_cache=True)
        past, logits = found.past_key_values, found.logits[0, -1]
        if len(said) < least:
            logits[end] = -torch.inf
        said.append(int(logits.argmax()))
        if said[-1] == end:
            break
    return said


def decoded(folder: Path, ids: list[int]) -> str:
    """The text of ``ids``, without special tokens."""
    from transformers import AutoTokenizer

    return str(AutoTokenizer.from_pretrained(folder).decode(ids, skip_special_tokens=True))
