"""Topics whose instructions a person has read: ``[-…-]`` is excluded, ``{…}`` neutral, the rest asked for."""

import re

from heed.types import Span, Topic

MARKED = re.compile(r"\[-(.+?)-\]|\{(.+?)\}|([^[{]+)")
KINDS = ("excluded", "neutral", "asked")


def read_topic(query: str, lang: str = "eng", **marked: str) -> Topic:
    """Return a topic with an instruction for each condition, and how it is read."""
    instructions, readings = {}, {}
    for condition, text in marked.items():
        parts = [(match[match.lastindex or 0], KINDS[(match.lastindex or 0) - 1]) for match in MARKED.finditer(text)]
        instructions[condition], spans = "", list[Span]()
        for part, kind in parts:
            start = len(instructions[condition])
            instructions[condition] += part
            spans.append(Span(start, start + len(part), kind))
        readings[condition] = tuple(spans)
    return Topic("1", lang, query, instructions, readings=readings)
