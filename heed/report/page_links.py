"""Links within the page of a report, as fragments of its address."""

from urllib.parse import quote


def page_link(folder: str, *parts: str, **query: str) -> str:
    """Return the link ``#/FOLDER/part/part?name=value``, each part percent-encoded.

    ``topic/QID?system=…`` and ``document/DOCID?topic=…&system=…`` are places of the explorer, ``systems/A/B`` is the
    comparison of two systems.
    """
    path = "/".join(quote(part, safe="") for part in (folder, *parts))
    parameters = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    return f"#/{path}" + (f"?{parameters}" if parameters else "")
