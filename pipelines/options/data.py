"""Options that name topics, documents, judgements and conditions, and say how topics are read."""

from pathlib import Path

from heed.formats.topics import FIELDS
from heed.types import CONDITIONS
from pipelines.options.parser import Group

# of the user's own
OWN_FILES = ("docs", "name", "topics", "topics_format", "qrels", "changed_qrels", "reversed_qrels", "encoding")
TOPIC_FORMS = ("heed", "neuclir", "tsv", "trec", "mfollowir")


def encoding_option(group: Group) -> None:
    """Add --encoding."""
    group.add_argument(
        "--encoding",
        metavar="NAME",
        help="encoding of the files that are not UTF-8, such as gb18030 (default: one that fits the language clearly)",
    )


def docs_option(group: Group, more: str = "", required: bool = False) -> None:
    """Add --docs and --encoding; ``more`` is what a command takes beside files and ids."""
    encoding_option(group)
    group.add_argument(
        "--docs",
        nargs="+",
        required=required,
        metavar="PATH",
        help=f"documents: .jsonl, TREC's SGML, folders of these, or an id of ir_datasets{more}",
    )


def topics_option(group: Group, more: str = "", required: bool = False) -> None:
    """Add --topics; ``more`` is what a command takes beside files."""
    group.add_argument(
        "--topics", required=required, metavar="PATH", help=f"topics: a file or folder; its form is recognised{more}"
    )


def topics_format_option(group: Group) -> None:
    """Add --topics-format."""
    group.add_argument("--topics-format", choices=TOPIC_FORMS, help="form of the topics, if it is not recognised")


def fields_option(group: Group, default: str | None = "title") -> None:
    """Add --fields; with the ``default`` None, a command sees whether it was used."""
    group.add_argument(
        "--fields", choices=FIELDS, default=default, help="text of a topic that is the query (default title)"
    )


def name_option(group: Group) -> None:
    """Add --name."""
    group.add_argument("--name", metavar="NAME", help="name of the collection of --docs (default: that of its file)")


def lang_option(group: Group) -> None:
    """Add --lang, the language of documents."""
    group.add_argument(
        "--lang",
        metavar="LANG",
        help="language of the documents: an ISO 639 code such as deu or de (default: the data set's, else eng)",
    )


def query_language_options(group: Group) -> None:
    """Add --query-lang and --translation."""
    group.add_argument(
        "--query-lang",
        choices=("native", "eng"),
        default="native",
        help="queries in the documents' language (default) or English",
    )
    group.add_argument(
        "--translation",
        choices=("human", "machine"),
        help="use only this translation of the topics (default: human if there is one)",
    )


def topic_ids_option(group: Group) -> None:
    """Add --topic-ids."""
    text = "number: read topics' ids without prefix and leading zeros, in all files; 051 and MB001 become 51 and 1"
    group.add_argument("--topic-ids", choices=("number",), help=text)


def run_reading_options(group: Group) -> None:
    """Add --subset, of MTEB's files of predictions, and --topic-ids."""
    group.add_argument("--subset", metavar="NAME", help="subset of MTEB's predictions, if a file has several")
    topic_ids_option(group)


def condition_option(group: Group) -> None:
    """Add --condition of a command that runs one."""
    group.add_argument(
        "--condition",
        choices=CONDITIONS,
        help="condition to run (default: original if the topics have instructions, else query)",
    )


def text_options(group: Group) -> None:
    """Add the topics and documents that a command must have, and their language."""
    topics_option(group, required=True)
    docs_option(group, required=True)
    lang_option(group)


def reading_options(group: Group) -> None:
    """Add how the topics of :func:`text_options` are read, and what their collection is called."""
    topics_format_option(group)
    fields_option(group)
    name_option(group)


def catalogue_option(group: Group) -> None:
    """Add a catalogue of collections of the user's own."""
    group.add_argument(
        "--catalogue", type=Path, metavar="FILE", help="JSON file of more collections, in the form of catalogue.json"
    )


def judgement_options(group: Group) -> None:
    """Add the judgements under each condition."""
    group.add_argument("--qrels", type=Path, metavar="PATH", help="judgements for the conditions query and original")
    group.add_argument("--changed-qrels", type=Path, metavar="PATH", help="judgements for the condition changed")
    group.add_argument("--reversed-qrels", type=Path, metavar="PATH", help="judgements for the condition reversed")
    topic_ids_option(group)
