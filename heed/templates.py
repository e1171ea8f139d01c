"""Templates with ``{names}``: how a query, an instruction and a document become one text, and that text's white space."""

import re

from heed.languages import HAN

UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")  # soft hyphens, marks of direction
MARK = re.compile(
    r"(?:[-–—]|[(]?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s|[（(]?[\d一二三四五六七八九十]{1,3}[）)、．]", re.IGNORECASE
)  # of an item of a list, at the beginning of a line
BULLET = re.compile(r"[•‣◦▪●○■□➢]|[*]\s")
CLOSED = ":;.!?：；。．！？…"  # what a line ends with before the first item
UNSPACED = re.compile(f"[{HAN}][“”‘’—…·]*\n[“”‘’—…·]*[{HAN}]")  # a line break within a Chinese or Japanese sentence


def fill(template: str, **parts: str) -> str:
    """Return the template with its ``{names}`` replaced and white space at its ends removed."""
    return placed(template, **parts).strip()


def placed(template: str, **parts: str) -> str:
    """Return the template with its ``{names}`` replaced; braces inside the parts stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda match: parts[match[1]], template)


def paragraphs(text: str) -> str:
    """Return a text with one blank for white space, line breaks included, and without characters that nobody sees.

    An empty line stays, and the break before an item of a list. Between Chinese or Japanese characters a break is
    nothing.
    """
    lines: list[str] = []
    for line in UNSEEN.sub("", text).splitlines():
        words, before = " ".join(line.split()), lines[-1] if lines else ""
        item = BULLET.match(words) or (MARK.match(f"{words} ") and (before.endswith((*CLOSED,)) or MARK.match(before)))
        if words and before and not item:
            lines[-1] += words if UNSPACED.search(f"{before[-3:]}\n{words[:3]}") else f" {words}"
        elif words or before:
            lines.append(words)
    return "\n".join(lines).strip()
