"""The texts that a model reads of a query and a document: the one place where its templates are filled."""

import re
from functools import cache

from heed.models.registry import Model
from heed.progress import log
from heed.templates import fill, placed

QUERY, DOCUMENT = "{query} {instruction}", "{title} {text}"
ENDS = ("?", ".", "!")
TITLE = re.compile(r"\{title\}\s*")


def query_text(model: Model, query: str, instruction: str) -> str:
    """Return query and instruction in ``model``'s template, or in ``bare`` where there is no instruction.

    Without ``bare``, ``task`` replaces an instruction that is empty. ``{mark}`` is a question
    mark where the query ends in none of ``? . !`` (Promptriever's rule).
    """
    mark = "" if query.endswith(ENDS) else "?"
    template = model.query or QUERY
    if not instruction and model.bare is not None:
        template = model.bare
    if instruction and "{instruction}" not in template:
        _log_unread(model.source, template)
    return fill(template, query=query, instruction=instruction or model.task or "", mark=mark)


@cache
def _log_unread(source: str, template: str) -> None:
    """Log, once, that a template has no place for the instruction; that may be intended."""
    log.info(f"{source}: no instruction reaches it, its query template has no {{instruction}}: {template}")


def document_text(model: Model, title: str, text: str) -> str:
    """Return a document in ``model``'s template; without a title, the white space after ``{title}`` is left out too."""
    template = model.document or DOCUMENT
    return fill(template if title else TITLE.sub("", template), title=title, text=text)


def prompt_text(prompt: str, query: str, document: str) -> str:
    """Return the one text of a model that reads both at once; spaces at its ends are kept, they are tokens."""
    return placed(prompt, query=query, document=document)
