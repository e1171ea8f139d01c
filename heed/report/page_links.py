"""Places within the page, as the fragment of its address."""

from urllib.parse import quote


def place(folder: str, *parts: str, **query: str) -> str:
    """Return ``#/FOLDER/part/part?name=value``, each part percent-encoded."""
    path = "/".join(quote(part, safe="") for part in (folder, *parts))
    asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    return f"#/{path}" + (f"?{asked}" if asked else "")


def topic_link(folder: str, qid: str, system: str) -> str:
    """Return the place of a topic as one system answers it."""
    return place(folder, "topic", qid, system=system)


def document_link(folder: str, docid: str, qid: str, system: str) -> str:
    """Return the place of a document as one topic asks for it, among the documents that a system returns."""
    return place(folder, "document", docid, topic=qid, system=system)


def systems_link(folder: str, first: str, second: str) -> str:
    """Return the place of two systems side by side."""
    return place(folder, "systems", first, second)
