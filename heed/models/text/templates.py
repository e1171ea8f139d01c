"""Query, instruction and document in the templates of a model: the one place where templates are filled."""

import re
from collections.abc import Mapping

from heed.models.registry.entries import Model
from heed.models.registry.families import LATE
from heed.progress import warn
from heed.templates import fill, placed

QUERY, DOCUMENT = "{query} {instruction}", "{title} {text}"
ENDS = ("?", ".", "!")
JOINT = "{|}"  # in a prompt: the tokenizer reads what is before and what is after it apart
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
    return fill(template, query=query, instruction=instruction or model.task or "", mark=mark)


def warn_unread(model: Model) -> None:
    """Warn of a template that has no place for the instruction; that may be intended."""
    template = model.query or QUERY
    if "{instruction}" not in template:
        warn(f"{model.source}: no instruction reaches it, its query template has no {{instruction}}: {template}")


def document_text(model: Model, title: str, text: str) -> str:
    """Return a document in ``model``'s template, or in ``untitled`` where it has no title.

    Without ``untitled``, ``{title}`` and the white space after it are left out.
    """
    template = model.document or DOCUMENT
    if not title:
        template = model.untitled or TITLE.sub("", template)
    return fill(template, title=title, text=text)


def prompt_of(model: Model, prompts: Mapping[str, str], task: str) -> str:
    """Return the prompt of a model's files that precedes a ``query`` or ``document``, as ``encode_query`` reads it."""
    template = model.query if task == "query" else model.document
    if template is not None and model.family != LATE:  # late interaction's has a marker, which precedes a template too
        return ""
    names = ("query",) if task == "query" else ("document", "passage", "corpus")
    return next((prompts[name] for name in names if name in prompts), "")


def prompt_text(prompt: str, query: str, document: str) -> str:
    """Return the one text of a model that reads both at once; spaces at its ends are kept, they are tokens."""
    return placed(prompt.replace(JOINT, ""), query=query, document=document)
