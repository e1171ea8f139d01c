"""Readers of what a model, its chat template or a web page says; rows of :mod:`hardening.readers`."""

import tempfile
from functools import cache
from pathlib import Path


def answer(path: Path) -> object:
    """An answer to list-wise ranking is a permutation, whatever it says."""
    from heed.models.rerankers.listwise import parse_ranking

    count = 20
    ranking = parse_ranking(_text(path), count)
    if sorted(ranking.order) != list(range(count)):
        raise AssertionError(f"the order is {ranking.order}")
    return ranking


def passage(path: Path) -> object:
    """A document in a list-wise prompt holds no identifier, so that it cannot pass for another one."""
    from heed.models.registry.entries import Model
    from heed.models.rerankers.listwise import IN_BRACKETS
    from heed.models.rerankers.listwise import passage as cut_passage
    from heed.types import Document

    text = cut_passage(Model("hostile/model"), Document("1", "", _text(path)), 300)
    if IN_BRACKETS.search(text):
        raise AssertionError(f"an identifier is left in {text[:60]!r}")
    return text


def thought(path: Path) -> object:
    """A reasoning model's words, which may end anywhere."""
    from heed.models.rerankers.yes_no import whole_sentences

    return whole_sentences(_text(path))


def request(path: Path) -> object:
    """What a page, or whoever has its token, may send to the annotation server."""
    from heed.addons.judging.annotate.payloads import read_request
    from heed.addons.judging.annotate.task import Task, parse_scale
    from heed.errors import HeedError
    from heed.files import parse_json
    from heed.types import Topic

    task = Task({"1": ["a", "b"]}, {"1": Topic("1", "eng", "query", {"original": "told"})}, "eng", parse_scale("0,1,3"))
    try:
        body = parse_json(path.read_bytes().decode())
    except ValueError as error:  # as the server has it
        raise HeedError(str(error)) from error
    return list(read_request(body, task))


def template(path: Path) -> object:
    """A chat template that comes with a model; the words of every message are in what it gives."""
    from heed.compute import Compute
    from heed.models.registry.entries import Model
    from heed.models.rerankers import listwise_local

    listwise_local.TEMPLATE_TIME = 1.0
    (_with_tokenizer() / "chat_template.jinja").write_bytes(path.read_bytes())
    chat = listwise_local.LocalChat(Model(str(_with_tokenizer())), Compute("cpu"))
    return chat.text([{"role": "system", "content": "rank"}, {"role": "user", "content": "water"}])


@cache
def _with_tokenizer() -> Path:
    from hardening.tiny import tokenizer

    folder = Path(tempfile.mkdtemp(prefix="heed-fuzz-"))
    tokenizer().save_pretrained(folder)
    return folder


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")
