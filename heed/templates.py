"""Templates with ``{names}``: how a query, an instruction and a document become one text; the white space of texts."""

import re

from heed.languages import HAN

UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")  # such as soft hyphens
MARK = re.compile(  # of an item of a list, at the beginning of a line
    r"[•‣◦▪●○■□➢]|(?:[*–—-]|[(]?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s|[（(]?[\d一二三四五六七八九十]{1,3}[）)、．]",
    re.IGNORECASE,
)
CLOSED = tuple(":;.!?：；。！？…")  # what may end a line before the first item
UNSPACED = re.compile(f"[{HAN}][“”‘’—…·]*\n[“”‘’—…·,.:;!?)]*[{HAN}]")  # a Chinese or Japanese sentence goes on


def fill(template: str, **parts: str) -> str:
    """Return the template with its ``{names}`` replaced and white space at its ends removed."""
    return placed(template, **parts).strip()


def placed(template: str, **parts: str) -> str:
    """Return the template with its ``{names}`` replaced; braces inside the parts stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda match: parts[match[1]], template)


def paragraphs(text: str) -> str:
    """Return a text with one blank for white space, and without characters that nobody sees.

    A line break is white space, but not at an empty line and before an item of a list; between Chinese or Japanese
    characters it is nothing, nor before an ASCII mark that stands between them.
    """
    parts, before, listed = list[str](), "", False  # the line before, and whether an item is being read
    for words in (" ".join(line.split()) for line in UNSEEN.sub("", text).splitlines()):
        item = MARK.match(f"{words} ") is not None
        if not before:
            gap = "\n\n"
        elif item and (listed or before.endswith(CLOSED) or words[0] in "•‣◦▪●○■□➢*"):
            gap = "\n"
        else:
            gap, item = "" if UNSPACED.search(f"{before[-3:]}\n{words[:3]}") else " ", listed
        parts += [gap, words] if words else []
        before, listed = words, item
    return "".join(parts).strip()
