"""TREC's documents: SGML with ``<DOC>`` and ``<DOCNO>``, and the texts of the Washington Post's articles.

The elements with text are those of ir_datasets (formats/trec.py, ``_parser_sax``), which has them from Anserini's
TrecCollection: a copy of TREC's disks gives the words that those index.
"""

import html
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import DataError
from heed.files import CONTROL, LONGEST_LINE, encoding_of, read_pieces, read_raw_lines
from heed.formats.topics import ENTITY
from heed.progress import log
from heed.types import Document

TITLES = {"headline", "title", "hl", "head", "ttl", "h3", "h4"}
TEXTS = {"text", "lp", "leadpara", "dd", "date"}
WEB = {"dochdr", "html", "body"}  # of pages, whose text is in no element of TREC's own
HIDDEN = {"dochdr", "script", "style"}
FEDERAL = {"&blank;": " ", "&hyph;": "-"}  # the Federal Register's own entities
START = re.compile(rb"\s*(?:<[^<>]*>\s*){0,9}?<doc[\s>]", re.IGNORECASE)  # after a declaration, or a root element
DOC = re.compile(rb"(</?doc(?=[\s>])[^<>]*>)", re.IGNORECASE)
MARKUP, BLANK = re.compile(rb"<[^<>]*>"), b"\xef\xbb\xbf \t\r\n"
TAG = re.compile(r"<(/?)([a-z][\w.:-]*)(?![\w.:-])[^<>]*>|<[!?][^<>]*>", re.IGNORECASE)
ID = re.compile(r"""\sid\s*=\s*["']?([^\s"'>]+)""", re.IGNORECASE)
ARTICLE = ("kicker", "sanitized_html", "tweet")  # parts with text, as in Anserini's WashingtonPostCollection
INLINE = re.compile(r"</?(?:a|b|em|i|small|span|strong|su[bp]|u)(?![\w.:-])[^<>]*>", re.IGNORECASE)  # within words
HEAD = 1 << 12  # bytes that tell a file's form
SHOWN = 40  # characters of a text in a message


class Block(NamedTuple):
    """The bytes of one document with its tags and the line where it begins; or the problem with a line."""

    line_no: int
    content: bytes
    problem: str = ""


def is_trec_documents(path: Path) -> bool:
    """Return whether a file, unpacked, begins with TREC's ``<DOC>``; false for one that cannot be read."""
    return bool(START.match(head(path).removeprefix(b"\xef\xbb\xbf")))


def head(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked; none of one that cannot be read."""
    try:
        return next(read_pieces(path), (1, b""))[1][:HEAD]
    except DataError:
        return b""


def read_trec_documents(path: Path, encoding: str | None = None) -> Iterator[tuple[int, Document | None, str]]:
    """Yield the line, the document and no text, or None and the problem, of every ``<DOC>``.

    A document is UTF-8, or else in ``encoding``, as :func:`heed.files.read_lines` decides for each by itself; one that
    could be in several is in that of the one before it. Its number is its ``<DOCNO>``, or the ``id`` of ``<DOC>``.
    A web page (of WT10g, GOV2) has its title and all text. Raises :class:`DataError` for a file that cannot be read,
    and for a document above ``LONGEST_LINE`` bytes.
    """
    others: dict[str, list[int]] = {}  # lines of documents by their encoding
    for block in _blocks(path):
        if block.problem:
            yield block.line_no, None, block.problem
            continue
        try:
            known = encoding_of(block.content, encoding, list(others)[-1:])
            text = block.content.decode(known)
        except UnicodeDecodeError as error:
            yield block.line_no, None, f"not UTF-8 ({error.reason}); name its encoding"
            continue
        if known != "utf-8":
            others.setdefault(known, []).append(block.line_no)
        docid, document = _parsed(text)
        if not docid:
            yield block.line_no, None, "this <DOC> has no <DOCNO>"
        elif docid.split() != [docid] or CONTROL.search(docid):
            yield block.line_no, None, f"<DOCNO> is {docid[:SHOWN]!r}, expected one word"
        else:
            yield block.line_no, document, ""
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


def _blocks(path: Path) -> Iterator[Block]:
    """Yield the documents of a file; what is no markup outside of them, and unpaired tags, are problems."""
    pieces: list[bytes] = []  # of the document that is open, its <DOC> first
    start = size = 0
    is_reported = False  # whether text outside has been reported since the last document
    for line_no, raw in read_raw_lines(path):
        for number, piece in enumerate(DOC.split(raw)):
            is_tag = number % 2 == 1
            if is_tag and not piece.startswith(b"</"):
                if pieces:
                    yield Block(start, b"", f"<DOC> without </DOC> before the next one, in line {line_no}; add it")
                start, size, pieces, is_reported = line_no, 0, [piece], False
            elif pieces:
                pieces.append(piece)
                size += len(piece)
                if size > LONGEST_LINE:
                    raise DataError(
                        f"{path}, line {start}: a <DOC> of more than {LONGEST_LINE} bytes; is </DOC> missing?"
                    )
                if is_tag:
                    yield Block(start, b"".join(pieces))
                    pieces = []
            elif not is_reported and (text := piece if is_tag else MARKUP.sub(b"", piece).strip(BLANK)):
                is_reported = True
                problem = f"found {text[:SHOWN].decode('latin-1')!r} outside of a <DOC>, expected <DOC> … </DOC>"
                yield Block(line_no, b"", f"{problem}; is a part of the file missing?")
    if pieces:
        yield Block(start, b"", "<DOC> without </DOC>; the file is cut, or not the whole of it is here")


def _parsed(text: str) -> tuple[str, Document]:
    """Return the number of a document, empty without any, and the document."""
    tags = list(TAG.finditer(text))
    names = {(tag[2] or "").lower() for tag in tags}
    is_page = bool(names & WEB) and not names & TEXTS
    titles = {"title"} if is_page else TITLES
    part_of = {**dict.fromkeys(titles, "title"), **dict.fromkeys(TEXTS, "text"), **dict.fromkeys(HIDDEN, "hidden")}
    part_of["docno"] = "docno"
    pieces: dict[str, list[str]] = {part: [] for part in ("title", "text", "hidden", "docno", "outside")}
    part, opener = "outside", ""
    for tag, following in zip(tags, [*(tag.start() for tag in islice(tags, 1, None)), len(text)], strict=True):
        name = (tag[2] or "").lower()
        if tag[1] and name == opener:
            part, opener = "outside", ""
        elif not tag[1] and name in part_of and (part == "outside" or (part == "title" and name in TEXTS)):
            part, opener = part_of[name], name
        pieces[part] += [" ", text[tag.end() : following]]
    whole = is_page or not names & (titles | TEXTS)
    attribute = ID.search(tags[0][0])
    docid = _plain("".join(pieces["docno"])) or (attribute[1] if attribute else "")
    body = "".join(pieces["outside" if whole else "text"])
    return docid, Document(docid, " ".join(_plain("".join(pieces["title"])).split()), _plain(body))


def _plain(text: str) -> str:
    """Return a text with its entities resolved, without blank lines and white space around words."""
    text = ENTITY.sub(lambda entity: FEDERAL.get(entity[0]) or html.unescape(entity[0]), text)
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))
