"""Which documents, topics and judgements: the one request for data, from Python and from every command."""

from dataclasses import dataclass, fields
from pathlib import Path

from heed.compute import described
from heed.languages import check_encoding

FIELDS = {"title": "title (query)", "description": "description", "both": "title and description"}  # of the query
TOPIC_FORMS = ("heed", "neuclir", "tsv", "trec", "mfollowir")
DOCUMENTS = ("docs", "name", "encoding")  # fields that say which documents
FILES = ("docs", "name", "topics", "topics_format", "qrels", "changed_qrels", "reversed_qrels", "encoding")  # fields


@dataclass(frozen=True)
class Data:
    """Files of the user's own, and which of a collection's texts to take; empty or None where nothing is asked for.

    ``docs`` and ``topics`` may be ids of ir_datasets; a single folder of ``docs`` may be a data set in BEIR's or MTEB's
    layout, which brings topics and judgements along.
    """

    docs: tuple[str, ...] = described(
        (), "documents: .jsonl, TREC's SGML, folders of these, or an id of ir_datasets", metavar="PATH", nargs="+"
    )
    topics: str = described("", "topics: a file or folder; its form is recognised", metavar="PATH")
    topics_format: str = described("", "form of the topics, if it is not recognised", choices=TOPIC_FORMS)
    qrels: Path | None = described(None, "judgements for the conditions query and original", metavar="PATH", type=Path)
    changed_qrels: Path | None = described(None, "judgements for the condition changed", metavar="PATH", type=Path)
    reversed_qrels: Path | None = described(None, "judgements for the condition reversed", metavar="PATH", type=Path)
    lang: str = described(
        "",
        "language of the documents: an ISO 639 code such as deu or de (default: the data set's, else eng)",
        metavar="LANG",
    )
    query_lang: str = described(
        "native", "queries in the documents' language (default) or English", choices=("native", "eng")
    )
    fields: str = described("title", "text of a topic that is the query (default title)", choices=tuple(FIELDS))
    encoding: str = described(
        "",
        "encoding of the files that are not UTF-8, such as gb18030 (default: one that fits the language clearly)",
        metavar="NAME",
    )
    name: str = described("", "name of the collection of your documents (default: that of their file)", metavar="NAME")

    def __post_init__(self) -> None:
        """Raise :class:`heed.errors.UsageError` for an unknown encoding, also where all files are UTF-8."""
        check_encoding(self.encoding)

    @property
    def judged(self) -> dict[str, Path]:
        """The files of judgements by condition."""
        paths = {"original": self.qrels, "changed": self.changed_qrels, "reversed": self.reversed_qrels}
        return {condition: path for condition, path in paths.items() if path}

    def queries_in(self, lang: str) -> str:
        """Return the language of the queries over documents in ``lang``."""
        return "eng" if self.query_lang == "eng" else lang

    def changed(self) -> list[str]:
        """Return the names of the fields that ask for something: their values are not the default ones."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]
