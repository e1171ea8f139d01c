"""Templates with ``{names}``: how a query, an instruction and a document become one text."""

import re


def fill(template: str, **parts: str) -> str:
    """Return the template with its ``{names}`` replaced and white space at its ends removed."""
    return placed(template, **parts).strip()


def placed(template: str, **parts: str) -> str:
    """Return the template with its ``{names}`` replaced; braces inside the parts stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda match: parts[match[1]], template)
