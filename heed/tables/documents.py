"""Tables as documents: parsed once, written in the form that systems get.

In the form ``raw`` a document's text is unchanged, with its title above it where the text does not
hold it. FollowTable's published texts are used alone: they hold their titles already.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from heed.errors import DataError, UsageError
from heed.files import digest, read_bytes, unpacked_name
from heed.formats.documents import SUFFIXES, DocumentLine, Files
from heed.languages import encoding_of, named
from heed.progress import brief, counted, log, number_of
from heed.reuse import recipe_version
from heed.tables.markup import FORMS, Table, as_fields, parse_csv, parse_table, serialise
from heed.types import Document

COLUMNS = (".csv", ".tsv")
ONE_TABLE = (".txt", ".md", ".html", ".htm", *COLUMNS)  # one table a file; the docid is its name without suffix
TABLE_SUFFIXES = (*SUFFIXES, *ONE_TABLE)


class Tables(Files):
    """Tables in JSONL or Parquet records (HTML or Markdown in their text), or a file each, in ``form``."""

    def __init__(self, paths: Sequence[Path], form: str, titles: bool = True, encoding: str | None = None) -> None:
        """Find the files; without ``titles`` a title is only the caption of a table without one, and never in the text.

        Raises :class:`UsageError` for another form and :class:`DataError` for a missing path or an empty folder.
        """
        if form not in FORMS:
            raise UsageError(f"table form is {form!r}, expected one of {', '.join(FORMS)}")
        super().__init__(paths, encoding, TABLE_SUFFIXES)
        self._form, self._titles, self._said = form, titles, False
        self._odd: dict[str, int] = {}  # by docid the rows of other lengths than the first, 0 where there is no table

    @property
    def recipe(self) -> Any:
        """The files' digests (with their names where a file is a table) and the form."""
        records = [path for path in self.paths if unpacked_name(path).endswith(SUFFIXES)]
        single = sorted([path.name, digest(path)] for path in self.paths if path not in records)
        settings = {"tables": recipe_version("tables"), "form": self._form, "titles": self._titles}
        return {**settings, "files": [*sorted(map(digest, records)), *named(self._encoding)], "single": single}

    def lines(self) -> Iterator[DocumentLine]:
        """Yield every table as a document, or the problem with it."""
        others: Counter[str] = Counter()  # files by their encoding
        for path in self.paths:
            records = unpacked_name(path).endswith(SUFFIXES)
            for line in Files([path], self._encoding).lines() if records else [self._whole_file(path, others)]:
                yield self._serialised(line.document, line) if line.document else line
        for known, count in others.items():
            log.info(f"{self}: {counted(count, 'file')} not UTF-8, read as {known}")
        none, rows = [*self._odd.values()].count(0), sum(self._odd.values())
        if self._odd and not self._said:  # not heed.progress.warn: results would have it only where this was just read
            self._said = True
            captions = [f"no table found in {number_of(none, 'text')}, read as captions"] if none else []
            within = number_of(len(self._odd) - none, "table")
            ragged = [f"{number_of(rows, 'row')} in {within} longer or shorter than the first"] if rows else []
            log.warning(f"{self}: {'; '.join(captions + ragged)}: {brief([*self._odd])}")

    def _whole_file(self, path: Path, others: Counter[str]) -> DocumentLine:
        """Return the only table of a file; the caption of a CSV file is its name. Counts its encoding."""
        name = Path(unpacked_name(path))
        if name.stem.split() != [name.stem]:
            return DocumentLine(path, 1, None, "the file's name is the docid and holds white space; rename the file")
        content = read_bytes(path)
        try:
            known = encoding_of(content, self._encoding)
            text = content.decode(known)
        except UnicodeDecodeError as error:
            problem = f"not UTF-8 ({error.reason}); convert it, or give encoding=NAME"
            return DocumentLine(path, 1, None, problem)
        others.update([known] if known != "utf-8" else [])
        title = name.stem if name.suffix in COLUMNS else ""
        return DocumentLine(path, 1, Document(name.stem, title, text.removeprefix("\ufeff")))

    def _serialised(self, document: Document, line: DocumentLine) -> DocumentLine:
        docid, title, text = document[:3]
        try:
            suffix = Path(unpacked_name(line.path)).suffix
            table = parse_csv(text, suffix == ".tsv") if suffix in COLUMNS else parse_table(text)
        except DataError as error:
            return line._replace(document=None, problem=str(error))
        if table.ragged or not (table.header or table.body):
            self._odd[docid] = table.ragged
        if not self._titles:
            table = table if table.caption else table._replace(caption=title)
        elif title.strip() and not _holds(table, title):
            text, table = f"{title}\n{text}".strip(), table._replace(caption=f"{title} {table.caption}".strip())
        written = text if self._form == "raw" else serialise(table, self._form)
        return line._replace(document=Document(docid, "", written, **as_fields(table)))


def _holds(table: Table, title: str) -> bool:
    """Return whether the words of ``title`` are somewhere in the table, one after the other."""
    fields = as_fields(table)
    return any(_words(title) in _words(text) for text in fields.values())


def _words(text: str) -> str:
    words = " ".join(re.findall(r"\w+", text.lower()))
    return f" {words} "
