"""Links within the page of a report, as fragments of its address."""

from urllib.parse import quote


def page_link(folder: str, *parts: str, **query: str) -> str:
    """Return the link ``#/FOLDER/part/part?name=value``, each part percent-encoded."""
    path = "/".join(quote(part, safe="") for part in (folder, *parts))
    parameters = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    return f"#/{path}" + (f"?{parameters}" if parameters else "")


def topic_link(folder: str, qid: str, system: str) -> str:
    """Return the link to a topic as one system answers it."""
    return page_link(folder, "topic", qid, system=system)


def document_link(folder: str, docid: str, qid: str, system: str) -> str:
    """Return the link to a document under one topic, among the documents that a system returns."""
    return page_link(folder, "document", docid, topic=qid, system=system)


def systems_link(folder: str, first: str, second: str) -> str:
    """Return the link to two systems side by side."""
    return page_link(folder, "systems", first, second)
