"""The texts that a model sees of a topic and a document: the one place where its templates are filled."""

from pipelines.registry import Model
from pipelines.templates import fill, placed

QUERY, DOCUMENT = "{query} {instruction}", "{title} {text}"
ENDS = ("?", ".", "!")


def query_text(model: Model, query: str, instruction: str) -> str:
    """The query and its instruction in ``model``'s template; ``task`` stands in for an instruction that is empty.

    ``{mark}`` is a question mark where the query ends in none of ``? . !`` (Promptriever's rule).
    """
    mark = "" if query.endswith(ENDS) else "?"
    return fill(model.query or QUERY, query=query, instruction=instruction or model.task or "", mark=mark)


def document_text(model: Model, title: str, text: str) -> str:
    """A document in ``model``'s template."""
    return fill(model.document or DOCUMENT, title=title, text=text)


def prompt_text(prompt: str, query: str, document: str) -> str:
    """The one text of a model that reads both at once; spaces at its ends are kept, they are tokens."""
    return placed(prompt, query=query, document=document)
