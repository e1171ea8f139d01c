"""The texts that a model sees of a topic and a document: the one place where its templates are filled."""

import re
from collections.abc import Iterator
from functools import cache

from heed.models.registry import Model
from heed.progress import log
from heed.templates import fill, placed

QUERY, DOCUMENT = "{query} {instruction}", "{title} {text}"
ENDS = ("?", ".", "!")
LISTWISE = {"listwise": "rank_zephyr", "api-chat": "rank_gpt"}  # families that are asked to rank, and their prompts
TITLE = re.compile(r"\{title\}\s*")
# an example: no mark ends the query, so that Promptriever's shows
EXAMPLE_QUERY = "solar power in the desert"
EXAMPLE = {
    "query": "",
    "original": "Plants in Africa are relevant.",
    "changed": "Plants in Africa are relevant, but not those in Egypt.",
    "reversed": "Plants in Africa are not relevant.",
}
EXAMPLE_DOCUMENT = ("Ouarzazate", "The plant in Morocco supplies a million homes.")  # title and text


def query_text(model: Model, query: str, instruction: str) -> str:
    """The query and its instruction in ``model``'s template, or in ``bare`` where there is no instruction.

    Without ``bare``, ``task`` stands in for an instruction that is empty. ``{mark}`` is a question
    mark where the query ends in none of ``? . !`` (Promptriever's rule).
    """
    mark = "" if query.endswith(ENDS) else "?"
    template = model.query or QUERY
    if not instruction and model.bare is not None:
        template = model.bare
    if instruction and "{instruction}" not in template:
        _tell_unheard(model.source, template)
    return fill(template, query=query, instruction=instruction or model.task or "", mark=mark)


@cache
def _tell_unheard(source: str, template: str) -> None:
    """Say once that a template has no place for the instruction; it may be what somebody wants to show."""
    log.info(f"{source}: no instruction reaches it, its query template has no {{instruction}}: {template}")


def document_text(model: Model, title: str, text: str) -> str:
    """A document in ``model``'s template; without a title, the white space after ``{title}`` goes too."""
    template = model.document or DOCUMENT
    return fill(template if title else TITLE.sub("", template), title=title, text=text)


def prompt_text(prompt: str, query: str, document: str) -> str:
    """The one text of a model that reads both at once; spaces at its ends are kept, they are tokens."""
    return placed(prompt, query=query, document=document)


def visible(text: str) -> str:
    """``text`` on one line: a newline as ``↵``, a space that a reader would miss as ``␣``, other controls escaped."""
    spaced = re.sub(r"^ +| {2,}| +(?=\n)|(?<=\n) +| +$", lambda found: "␣" * len(found[0]), text)
    return "".join("↵" if one == "\n" else one if one.isprintable() else repr(one)[1:-1] for one in spaced)


def sees(model: Model) -> Iterator[tuple[str, str]]:
    """What ``model`` is given of an example, by label; nothing for a system whose texts are not known."""
    if model.status == "named" and model.query is None:
        return
    document, listwise = document_text(model, *EXAMPLE_DOCUMENT), model.family in LISTWISE
    if model.prompt is None and not listwise:
        yield "document", document
    for condition, instruction in EXAMPLE.items():
        query = query_text(model, EXAMPLE_QUERY, instruction)
        if listwise:
            yield from _asked(model, condition, query)
        else:
            yield condition, query if model.prompt is None else prompt_text(model.prompt, query, document)


def _asked(model: Model, condition: str, query: str) -> Iterator[tuple[str, str]]:
    """The conversation about two passages, which are the same here."""
    from heed.models.listwise_prompt import WORDS, messages, passage, pieces
    from heed.types import Document

    shown = passage(model, Document("1", *EXAMPLE_DOCUMENT), WORDS)
    for at, message in enumerate(messages(pieces(model, LISTWISE[model.family]), query, [shown, shown]), 1):
        yield f"{condition}, {at} {message['role']}", message["content"]
