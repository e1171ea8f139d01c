"""TREC's SGML: topics, and documents as on TREC's disks."""

import html
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from heed.errors import DataError
from heed.files import CONTROL, LONGEST_LINE, read_raw_lines, read_text, word_of
from heed.languages import encoding_of
from heed.progress import log
from heed.types import Document, paragraphs

# (?![\w-]) ends the name: a "<" that opens no tag must not be tried with each of its beginnings.
TOPIC_TAG = re.compile(r"<(/?)([a-z][\w-]*)(?![\w-])[^<>]*>", re.IGNORECASE)
NAMES = {"query": "title", "question": "desc", "description": "desc", "narrative": "narr", "identifier": "num"}
LABELS = {  # what the files repeat after the tag: with a colon, or alone in its line
    "num": re.compile(r"number(?:\s*:|\s)", re.IGNORECASE),
    "title": re.compile(r"topic\s*:", re.IGNORECASE),
    "desc": re.compile(r"description(?:\s*:|[^\S\n]*(?:\n|$))", re.IGNORECASE),
    "narr": re.compile(r"narrative(?:\s*:|[^\S\n]*(?:\n|$))", re.IGNORECASE),
}
NUMBER = re.compile(r"""\bnumber\s*=\s*["']?([^"'<>\s]+)""", re.IGNORECASE)  # in the tag of a topic
ENTITY = re.compile(r"&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]\w{1,31});", re.IGNORECASE)


def trec_topics(path: Path, encoding: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the topics of a file with ``<top>`` or ``<topic>``; the narrative, if any, is the original instruction."""
    text = read_text(path, encoding)
    tops = _tops(text)
    if not tops:
        raise DataError(f"{path}: no <top>; expected TREC topics: <top> <num> <title> …, or another topics_format=FORM")
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    keys = {"_id": "num", "query": "title", "description": "desc", "instruction": "narr"}
    for start, texts, repeated in tops:
        row: dict[str, Any] | str = {key: texts.get(name) for key, name in keys.items()}
        if "num" not in texts:
            row = "this <top> has no <num>"
        elif repeated:
            row = f"topic {texts['num']} has <{'>, <'.join(repeated)}> twice; keep one"
        yield bisect_right(lines, start), row


def _tops(text: str) -> list[tuple[int, dict[str, str], list[str]]]:
    """Return where each ``<top>`` or ``<topic>`` begins, its texts, and the names of repeated ones."""
    tops: list[tuple[int, dict[str, str], list[str]]] = []
    inside = False
    whole = "top" if re.search(r"<top(?![\w-])", text, re.IGNORECASE) else "topic"
    for (name, start, end), (_, following, _) in pairwise([*_tags(text, whole), ("", len(text), len(text))]):
        if name in (whole, f"/{whole}"):
            inside = name == whole
            if inside:
                number = NUMBER.search(text, start, end)
                tops.append((start, {"num": number[1]} if number else {}, []))
        elif inside and name in LABELS:
            _, texts, repeated = tops[-1]
            if name in texts:
                repeated.append(name)
            texts[name] = _clean(name, text[end:following])
    return tops


def _tags(text: str, whole: str) -> Iterator[tuple[str, int, int]]:
    """Yield name, start and end of the tags that end the field before them.

    These are ``whole`` and its parts anywhere, others at the start of a line: an unknown tag within a line, such as
    ``<b>``, is a part of the text. Names are lowercased, those of closing tags with their slash.
    """
    for match in TOPIC_TAG.finditer(text):
        name = NAMES.get(match[2].lower(), match[2].lower())
        before = text[max(0, match.start() - 1) : match.start()]
        if name in LABELS or name == whole or before in ("", "\n"):
            yield match[1] + name, match.start(), match.end()


def _clean(name: str, text: str) -> str:
    text = ENTITY.sub(lambda match: html.unescape(match[0]), text).strip()
    label = LABELS[name].match(text)
    text = text[label.end() if label else 0 :]
    return paragraphs(text) if name == "narr" else " ".join(text.split())


# TREC's SGML. The elements with text are those of ir_datasets (formats/trec.py, _parser_sax), which has them from
# Anserini's TrecCollection: a copy of TREC's disks gives the words that those index.
TITLES = {"headline", "title", "hl", "head", "ttl", "h3", "h4"}
PARTS = {"text", "lp", "leadpara", "dd", "date"}
WEB = {"dochdr", "html", "body"}  # of pages, whose text is in no element of TREC's own
HIDDEN = {"dochdr", "script", "style"}
FEDERAL = {"&blank;": " ", "&hyph;": "-"}  # the Federal Register's own entities
DOC = re.compile(rb"(</?doc(?=[\s>])[^<>]*>)", re.IGNORECASE)
MARKUP, BLANK = re.compile(rb"<[^<>]*>"), b"\xef\xbb\xbf \t\r\n"
TAG = re.compile(r"<(/?)([a-z][\w.:-]*)(?![\w.:-])[^<>]*>|<[!?][^<>]*>", re.IGNORECASE)
ID = re.compile(r"""\sid\s*=\s*["']?([^\s"'>]+)""", re.IGNORECASE)
ARTICLE = ("kicker", "sanitized_html", "tweet")  # parts with text, as in Anserini's WashingtonPostCollection
INLINE = re.compile(r"</?(?:a|b|em|i|small|span|strong|su[bp]|u)(?![\w.:-])[^<>]*>", re.IGNORECASE)  # within words
SHOWN = 40  # characters of a text in a message


def trec_documents(path: Path, encoding: str | None = None) -> Iterator[tuple[int, Document | None, str]]:
    """Yield the line where a ``<DOC>`` is, the document, and the problem with it where there is none.

    A document is UTF-8, or else in ``encoding``, as :func:`heed.files.read_lines` decides for each by itself; one that
    could be in several is in that of the one before it. Its number is its ``<DOCNO>``, or the ``id`` of ``<DOC>``.
    A web page (of WT10g, GOV2) has its title and all text. Raises :class:`DataError` for a file that cannot be read,
    and for a document above ``LONGEST_LINE`` bytes.
    """
    others: dict[str, list[int]] = {}  # lines of documents by their encoding
    for line_no, content, problem in _blocks(path):
        if problem:
            yield (line_no, None, problem)
            continue
        try:
            known = encoding_of(content, encoding, list(others)[-1:])
            document = _parsed(content.decode(known))
        except UnicodeDecodeError as error:
            yield (line_no, None, f"not UTF-8 ({error.reason}); give encoding=NAME")
            continue
        if known != "utf-8":
            others.setdefault(known, []).append(line_no)
        docid = document.docid
        if not docid:
            yield (line_no, None, "this <DOC> has no <DOCNO>")
        elif not word_of(docid) or CONTROL.search(docid):
            yield (line_no, None, f"<DOCNO> is {docid[:SHOWN]!r}, expected one word")
        else:
            yield line_no, document, ""
    for known, lines in others.items():
        log.info(f"{path}: {len(lines)} documents that are not UTF-8, the first at line {lines[0]}, read as {known}")


def article_text(contents: Sequence[Any]) -> str | None:
    """Return the parts of a Washington Post article that Anserini takes, without their markup; None for another list.

    ``contents`` is what its JSON line has under this name: objects with ``type``, and nulls.
    """
    parts = [part for part in contents if part is not None]
    if not all(isinstance(part, dict) and "type" in part for part in parts):
        return None
    keys = ((part, key) for part in parts for key in ("content" if part["type"] in ARTICLE else "", "fullcaption"))
    texts = [text.get("text") if isinstance(text := part.get(key), dict) else text for part, key in keys]  # of a tweet
    return "\n".join(_plain(TAG.sub(" ", INLINE.sub("", text))) for text in texts if isinstance(text, str) and text)


def _blocks(path: Path) -> Iterator[tuple[int, bytes, str]]:
    """Yield line and bytes of every document, with its tags; or line and problem: text outside, an unpaired tag."""
    pieces: list[bytes] = []  # of the document that is open, its <DOC> first
    start = size = 0
    is_reported = False  # whether text outside has been reported since the last document
    for line_no, raw in read_raw_lines(path):
        for number, piece in enumerate(DOC.split(raw)):
            is_tag = number % 2 == 1
            if is_tag and not piece.startswith(b"</"):
                if pieces:
                    yield (start, b"", f"<DOC> without </DOC> before the next one, in line {line_no}; add it")
                start, size, pieces, is_reported = line_no, 0, [piece], False
            elif pieces:
                pieces.append(piece)
                size += len(piece)
                if size > LONGEST_LINE:
                    raise DataError(
                        f"{path}, line {start}: a <DOC> of more than {LONGEST_LINE} bytes; is </DOC> missing?"
                    )
                if is_tag:
                    yield start, b"".join(pieces), ""
                    pieces = []
            elif not is_reported and (text := piece if is_tag else MARKUP.sub(b"", piece).strip(BLANK)):
                is_reported = True
                problem = f"found {text[:SHOWN].decode('latin-1')!r} outside of a <DOC>, expected <DOC> … </DOC>"
                yield (line_no, b"", f"{problem}; is a part of the file missing?")
    if pieces:
        yield (start, b"", "<DOC> without </DOC>; the file is cut, or not the whole of it is here")


def _parsed(text: str) -> Document:
    """Return a document; its docid is empty where it has no number."""
    tags = list(TAG.finditer(text))
    names = {(tag[2] or "").lower() for tag in tags}
    is_page = bool(names & WEB) and not names & PARTS
    titles = {"title"} if is_page else TITLES
    part_of = {**dict.fromkeys(titles, "title"), **dict.fromkeys(PARTS, "text"), **dict.fromkeys(HIDDEN, "hidden")}
    part_of["docno"] = "docno"
    pieces: dict[str, list[str]] = {part: [] for part in ("title", "text", "hidden", "docno", "outside")}
    part, opener = "outside", ""
    for tag, following in zip(tags, [*(tag.start() for tag in islice(tags, 1, None)), len(text)], strict=True):
        name = (tag[2] or "").lower()
        if tag[1] and name == opener:
            part, opener = "outside", ""
        elif not tag[1] and name in part_of and (part == "outside" or (part == "title" and name in PARTS)):
            part, opener = part_of[name], name
        pieces[part] += [" ", text[tag.end() : following]]
    whole = is_page or not names & (titles | PARTS)
    attribute = ID.search(tags[0][0])
    docid = _plain("".join(pieces["docno"])) or (attribute[1] if attribute else "")
    body = "".join(pieces["outside" if whole else "text"])
    return Document(docid, " ".join(_plain("".join(pieces["title"])).split()), _plain(body))


def _plain(text: str) -> str:
    """Return a text with its entities resolved, without blank lines and white space around words."""
    text = ENTITY.sub(lambda entity: FEDERAL.get(entity[0]) or html.unescape(entity[0]), text)
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))
