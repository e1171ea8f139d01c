"""A pool written for other programs: annotation tools, spreadsheets, rerankers, MTEB; checked before."""

import codecs
import csv
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, Protocol
from xml.sax.saxutils import quoteattr

from heed.errors import DataError, UsageError, fail
from heed.extras import require
from heed.files import digest, finished, finished_folder, locked, read_text, write_bytes, write_json, write_packed
from heed.formats.trec_files import Pool, write_qrels
from heed.progress import brief, counted, log, number_of, warn
from heed.reuse import NOTE, Note, digests, note_of, read_note, unchanged_note, write_note
from heed.types import UNJUDGED, Document, Topic

if TYPE_CHECKING:
    from openpyxl import Workbook

HERE = Path(__file__).parent
AT_ONCE = 200  # documents in memory
GRADES = {0: "not relevant", 1: "marginally relevant", 2: "relevant", 3: "highly relevant"}


class Texts(Protocol):
    """Documents by docid, such as :class:`heed.formats.document_store.DocumentStore`."""

    def get(self, docids: Sequence[str]) -> list[Document]:
        """Return the documents of ``docids``, in that order."""

    def missing(self, docids: Sequence[str]) -> list[str]:
        """Return those of ``docids`` that are not there."""


class ExportedPool(NamedTuple):
    """A pool with its topics and documents.

    ``topics`` (by qid) may be empty and ``documents`` None for the forms that show no text,
    ``trec-pool`` and ``qrels-template``. The instruction of ``condition`` is shown, none under ``query``. Tools are set
    up for the grades of ``scale``, ascending, with their labels. A share is of an ``assessor``.
    """

    pool: Pool
    topics: dict[str, Topic]
    condition: str
    documents: Texts | None
    scale: Mapping[int, str] = GRADES
    assessor: str = ""


class ShownDocument(NamedTuple):
    """A document to be judged for a topic; the names are those of the exported fields, a share's with an assessor."""

    qid: str
    docid: str
    condition: str
    query: str
    instruction: str
    title: str
    text: str
    assessor: str = ""

    def fields(self) -> dict[str, Any]:
        """Return the exported fields."""
        return {name: text for name, text in self._asdict().items() if text or name != "assessor"}

    @property
    def contents(self) -> str:
        """Title and text together, for tools that show one text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


def shown_documents(exported: ExportedPool) -> Iterator[ShownDocument]:
    """Yield every document of a checked pool in the pool's order, a few documents at a time in memory."""
    for qid, docids in exported.pool.items():
        query = exported.topics[qid].under(exported.condition)
        for docid, title, text, *_ in documents(exported, docids):
            shown = (query.query, query.instruction, title, text, exported.assessor)
            yield ShownDocument(qid, docid, exported.condition, *shown)


def documents(exported: ExportedPool, docids: list[str]) -> Iterator[Document]:
    """Yield the documents ``docids``, in their order, a few at a time in memory."""
    store = _store(exported)
    for start in range(0, len(docids), AT_ONCE):
        yield from store.get(docids[start : start + AT_ONCE])


def check_exported(exported: ExportedPool, shows_text: bool) -> None:
    """Raise one :class:`HeedError` for all that keeps a pool from being exported.

    That is an empty pool, an id that is no word and, where texts are shown, a topic that is missing or has no
    instruction for the condition, and a document that is not in the collection.
    """
    docids = [*dict.fromkeys(chain.from_iterable(exported.pool.values()))]
    ids = (name for name in [*exported.pool, *docids] if name.split() != [name])
    fail(f"{name!r} in the pool: expected a word as id; fix the pool" for name in ids)
    fail([] if docids else ["the pool holds no document; there is nothing to export"])
    if not shows_text:
        return
    fail(problem for qid in exported.pool if (problem := _topic_problem(qid, exported)))
    missing = _store(exported).missing(docids)
    fail(f"document {docid}: in the pool and not in the collection; give the documents it is from" for docid in missing)


def _topic_problem(qid: str, exported: ExportedPool) -> str:
    topic, condition = exported.topics.get(qid), exported.condition
    if topic is None:
        return f"topic {qid}: in the pool and not among the topics; give topics=PATH, the file it is from"
    if condition == "query" or condition in topic.instructions:
        return ""
    carried = ", ".join(topic.instructions) or "none"
    return f"topic {qid}: has no {condition} instruction (it has: {carried}); choose another condition"


def _store(exported: ExportedPool) -> Texts:
    if exported.documents is None:
        raise UsageError("this form shows the documents' texts; give docs=PATH")
    return exported.documents


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a folder that becomes ``path`` when the block ends without an error, with a note of its files.

    An earlier, unchanged export is replaced, so that a command that was killed can be started again. Raises
    :class:`DataError` if anything else is there.
    """
    path = path.absolute()
    check_new_folder(path)
    with locked(path.parent), finished_folder(path) as part:
        yield part
        write_note(part / NOTE, Note({}, digests(part)))


def check_new_folder(path: Path) -> None:
    """Raise :class:`DataError` unless ``path`` is absent, or a folder that is empty or an unchanged export."""
    if path.exists() and not (path.is_dir() and (not any(path.iterdir()) or unchanged_note(path))):
        raise DataError(f"{path}: is there already and not empty; name a new folder, or remove this one first")


COLOURS = ("#d9d9d9", "#fdd49e", "#fc8d59", "#d7301f")  # pale to strong; doccano needs one for each label
# line ends other than \n, at which some readers of JSON lines split (str.splitlines)
ESCAPED = {ord(letter): f"\\u{ord(letter):04x}" for letter in "\x85\u2028\u2029"}
EMPTY = "(this document is empty)"  # doccano refuses an empty text

CHOICE = "grade"  # name of the choices or the rating, by which judgements are found in Label Studio's results

# plaintext: each line has the direction of its first strong letter, so that Persian documents
# under an English query are set from the right. Label Studio 1.23 puts each line into an inline span
# before a <br>; as a block it can have a direction and keeps its height when empty.
STYLE = (
    ".heed * { unicode-bidi: plaintext; text-align: start; white-space: pre-wrap; } "
    ".heed span { display: block; min-height: 1.2em; } .heed br { display: none; }"
)
INSTRUCTION = '    <Text name="instruction" value="$instruction" valueType="text" selectionEnabled="false"/>\n'


def write_jsonl(path: Path, exported: ExportedPool) -> None:
    """Write one object for each document; ``grade`` is null, to be filled in."""
    with finished(path) as stream:
        stream.writelines(_line({**document.fields(), "grade": None}) for document in shown_documents(exported))


def write_doccano(path: Path, exported: ExportedPool) -> None:
    """Write doccano's JSONL for text classification, and its labels beside it as ``….labels.json``.

    All fields but ``text`` and ``label`` become doccano's metadata, which it shows beside the text
    and exports again. doccano refuses an empty text: an empty document is shown as such. Read by
    doccano 1.8.4 with the column names text and label, its defaults.
    """
    with finished(path) as stream:
        for document in shown_documents(exported):
            meta = document.fields()
            meta["text"] = document.contents or EMPTY
            stream.write(_line({**meta, "label": []}))
    labels = path.with_suffix(".labels.json")
    step = (len(COLOURS) - 1) / (len(exported.scale) - 1)
    style = {grade: {"background_color": COLOURS[round(place * step)]} for place, grade in enumerate(exported.scale)}
    keys = {grade: {"text": str(grade), "suffix_key": str(grade)} for grade in style}
    write_json(labels, [{**keys[grade], **style[grade], "text_color": "#000000"} for grade in style])
    grades = ", ".join(map(str, exported.scale))
    log.info(f"{labels}: the labels {grades} with their keys; import it under doccano's Labels")


def write_label_studio(path: Path, exported: ExportedPool) -> None:
    """Write the tasks as a JSON list, and the labelling configuration beside them as ``….xml``.

    Each task's ``data`` holds all fields of :class:`~heed.addons.judging.exchange.exports.ShownDocument`;
    Label Studio returns them with its results. Imported by Label Studio 1.23.2.
    """
    with finished(path) as stream:
        stream.writelines(_json_list({"data": document.fields()} for document in shown_documents(exported)))
    configuration = path.with_suffix(".xml")
    write_bytes(configuration, _label_studio_configuration(exported).encode())
    log.info(f"{configuration}: paste it under Settings, Labeling Interface, Code, before {path.name} is imported")


def _label_studio_configuration(exported: ExportedPool) -> str:
    choices = "\n".join(
        f'    <Choice value={quoteattr(f"{grade}: {meaning}")} alias="{grade}" hotkey="{grade}"/>'
        for grade, meaning in exported.scale.items()
    )
    instruction = "" if exported.condition == "query" else INSTRUCTION
    return read_text(HERE / "label_studio.xml").format(
        style=STYLE, instruction=instruction, choice=CHOICE, choices=choices
    )


def write_rank_llm(path: Path, exported: ExportedPool) -> None:
    """Write rank_llm's requests as JSONL, one for each topic.

    The query is query and instruction as MTEB joins them. A pool has no scores: the n documents
    of a topic get n, n - 1, … 1, which stand for the pool's order only.
    """
    with finished(path) as stream:
        stream.writelines(map(_line, _requests(exported)))


def _requests(exported: ExportedPool) -> Iterator[dict[str, Any]]:
    for qid, docids in exported.pool.items():
        query = {"text": exported.topics[qid].under(exported.condition).text, "qid": qid}
        candidates = [
            {"docid": docid, "score": float(len(docids) - index), "doc": {"title": title, "text": text}}
            for index, (docid, title, text, *_) in enumerate(documents(exported, docids))
        ]
        yield {"query": query, "candidates": candidates}


def _json_list(records: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Yield a JSON list in pieces, an item a line, so that the whole list is never in memory."""
    separator = b"[\n"
    for record in records:
        yield separator + _line(record).rstrip(b"\n")
        separator = b",\n"
    yield b"\n]\n"


def _line(record: dict[str, Any]) -> bytes:
    return f"{json.dumps(record, ensure_ascii=False).translate(ESCAPED)}\n".encode()


ZipMode = Literal["r", "w"]

COLUMNS = ("qid", "docid", "condition", "query", "instruction", "grade", "title", "text", "assessor")
WIDTHS = (12, 24, 12, 40, 60, 8, 40, 120, 16)  # of the columns, in characters
HEIGHT = 120  # of a row, in points: the beginning of a document, not all of it
# what spreadsheets read as the beginning of a formula (OWASP, CSV Injection), and the quote that guards it
GUARDED = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")
CELL = 32_767  # UTF-16 units that an Excel cell holds (Microsoft, Excel specifications and limits)
ROWS = 1_048_576  # that an Excel sheet holds, with the header (ibid.)
CUT = "[cut]"  # at the end of a cell whose text is longer
UNXML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # not allowed by XML 1.0, section 2.2
EPOCH = datetime(1980, 1, 1)  # the first moment that a zip file can write


def write_csv(path: Path, exported: ExportedPool) -> None:
    """Write a CSV table in UTF-8 with a byte-order mark, by which Excel recognises UTF-8.

    A cell that a spreadsheet would read as a formula, or that begins with a single quote, gets a
    single quote in front, which :func:`unguarded` removes.
    """
    with finished(path) as stream:
        rows = csv.writer(codecs.getwriter("utf-8-sig")(stream))
        rows.writerow(_columns(exported))
        rows.writerows([guarded(cell) for cell in _cells(document)] for document in shown_documents(exported))


def guarded(cell: str) -> str:
    """Return ``cell`` so that no spreadsheet reads it as a formula."""
    return f"'{cell}" if cell.startswith(GUARDED) else cell


def write_xlsx(path: Path, exported: ExportedPool) -> None:
    """Write an Excel workbook of one sheet; every cell is typed as text, so that ``007`` and ``=1`` are kept.

    A text longer than a cell holds ends in ``[cut]``, with a warning that names the documents. Control characters,
    which no workbook can hold, are replaced in texts by their pictures (U+2400 and on).
    Raises :class:`DataError` for an id with one, and for more documents than a sheet has rows.
    """
    count = sum(map(len, exported.pool.values()))
    fail([f"{path}: {count} documents, and an Excel sheet holds {ROWS - 1}; write csv"] if count >= ROWS else [])
    fail(
        f"{path}: {qid!r}, {docid!r}: an id with a control character, which no workbook holds; write csv"
        for qid, docids in exported.pool.items()
        for docid in docids
        if UNXML.search(qid + docid)
    )
    from openpyxl.writer.excel import ExcelWriter

    cut: dict[str, None] = {}
    with finished(path) as stream, _Timeless(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        ExcelWriter(_workbook(exported, cut), archive).write_data()
    if cut:
        documents = f"{counted(len(cut), 'document')} cut at Excel's {CELL:,} characters"
        warn(f"{path}: {documents}: {brief([*cut])}; csv and heed annotate show all of them")


class _Timeless(zipfile.ZipFile):
    """A zip file without times: the same pool gives the same bytes."""

    def open(
        self, name: str | zipfile.ZipInfo, mode: ZipMode = "r", pwd: bytes | None = None, *, force_zip64: bool = False
    ) -> IO[bytes]:
        if isinstance(name, zipfile.ZipInfo):
            name.date_time = EPOCH.timetuple()[:6]
        return super().open(name, mode, pwd, force_zip64=force_zip64)


def _workbook(exported: ExportedPool, cut: dict[str, None]) -> "Workbook":
    """Return the workbook; the docids of documents with a text that is cut are added to ``cut``."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Alignment, NamedStyle
    from openpyxl.utils import get_column_letter

    book = Workbook(write_only=True)
    book.properties.created = book.properties.modified = EPOCH
    # @: Excel's format of text, which remains text when it is edited
    book.add_named_style(NamedStyle("heed", number_format="@", alignment=Alignment(wrap_text=True, vertical="top")))
    sheet = book.create_sheet("pool")
    sheet.freeze_panes = "A2"
    sheet.sheet_format.defaultRowHeight, sheet.sheet_format.customHeight = HEIGHT, True
    for number, width in enumerate(WIDTHS, 1):
        sheet.column_dimensions[get_column_letter(number)].width = width
    sheet.append(_columns(exported))
    for document in shown_documents(exported):
        row = []
        for text in _cells(document):
            shown = _cut(text)
            cut |= {} if shown == text else {document.docid: None}
            cell = WriteOnlyCell(sheet, UNXML.sub(_picture, shown) or None)
            cell.style = "heed"
            cell.data_type = "s" if text else "n"
            row.append(cell)
        sheet.append(row)
    return book


def _columns(exported: ExportedPool) -> Sequence[str]:
    return COLUMNS if exported.assessor else COLUMNS[:-1]


def _cells(document: ShownDocument) -> Iterator[str]:
    fields = {**document.fields(), "grade": ""}
    return (fields[name] for name in COLUMNS if name in fields)


def _cut(text: str) -> str:
    """Return the text as far as it fits into a cell, marked where it is cut; letters beyond U+FFFF take two units."""
    size = CELL if len(text) <= CELL // 2 or max(text) <= "\uffff" else CELL // 2
    return text if len(text) <= size else text[: size - len(CUT)] + CUT


def _picture(match: re.Match[str]) -> str:
    letter = match[0]
    return chr(0x2400 + ord(letter)) if letter < " " else "\ufffd"


Row = dict[str, Any]

SPLIT = "test"
GROUP = 2000  # rows in memory
# the queries of each condition with FollowIR's endings: its measure compares changed with original
ENDINGS = {
    "query": {"query": ""},
    "original": {"original": "-og"},
    "changed": {"original": "-og", "changed": "-changed"},
}
README_CONFIG = """- config_name: {name}
  data_files:
  - split: {split}
    path: {path}"""


def write_mteb(path: Path, exported: ExportedPool) -> None:
    """Write ``corpus``, ``queries``, ``top_ranked``, ``default`` (qrels) and ``instruction`` as Parquet in a folder.

    Under ``query`` there is no ``instruction`` and the query ids are the topics'. Under ``original``
    they end in ``-og``; ``changed`` gives the pair, ``-og`` and ``-changed``, as FollowIR has it (of
    a topic without an original instruction only ``-changed``). Every document of the pool has
    grade -1 in the qrels, unjudged: MTEB drops topics without any. Raises :class:`UsageError` for
    other conditions, which the layout does not have.
    """
    if exported.condition not in ENDINGS:
        raise UsageError(f"condition {exported.condition}: not in MTEB's layout; export {', '.join(ENDINGS)}")
    topics, pool = exported.topics, exported.pool
    queries = {
        qid + ending: (qid, "" if condition == "query" else topics[qid].instructions[condition])
        for qid in pool
        for condition, ending in ENDINGS[exported.condition].items()
        if condition == "query" or condition in topics[qid].instructions
    }
    configs = mteb_configs(
        documents(exported, list(dict.fromkeys(chain.from_iterable(pool.values())))),
        {full: (topics[qid].query, instruction) for full, (qid, instruction) in queries.items()},
        {full: pool[qid] for full, (qid, _) in queries.items()},
        {full: dict.fromkeys(pool[qid], UNJUDGED) for full, (qid, _) in queries.items()},
    )
    with new_folder(path) as part:
        files = {config: write_parquet(part / config, rows, SPLIT) for config, rows in configs.items()}
        write_bytes(part / "README.md", _readme(files, exported).encode())


def mteb_configs(
    corpus: Iterable[Document],
    queries: Mapping[str, Sequence[str]],
    candidates: Mapping[str, Sequence[str]],
    qrels: Mapping[str, Mapping[str, int]],
) -> dict[str, Iterator[Row]]:
    """Return the rows of each of MTEB's configs; ``queries`` are pairs of query and instruction by query id."""
    configs: dict[str, Iterator[Row]] = {
        "corpus": ({"_id": docid, "title": title, "text": text} for docid, title, text, *_ in corpus),
        "queries": ({"_id": full, "text": query} for full, (query, _) in queries.items()),
        "top_ranked": listed_documents(candidates),
        "default": (
            {"query-id": full, "corpus-id": docid, "score": grade}
            for full, grades in qrels.items()
            for docid, grade in grades.items()
        ),
    }
    if any(instruction for _, instruction in queries.values()):
        configs["instruction"] = ({"query-id": full, "instruction": text} for full, (_, text) in queries.items())
    return configs


def listed_documents(documents: Mapping[str, Sequence[str]]) -> Iterator[Row]:
    """Yield a row for each topic with the list of its documents."""
    return ({"query-id": qid, "corpus-ids": docids} for qid, docids in documents.items())


def named_configs(files: Iterable[tuple[str, str, str]]) -> str:
    """Return the list of configs in a README's head, of which each has a name, a split and a path."""
    return "\n".join(README_CONFIG.format(name=name, split=split, path=path) for name, split, path in files)


def write_parquet(folder: Path, rows: Iterator[Row], split: str) -> str:
    """Write one config and return its path from the folder above.

    Its columns have MTEB's types, so that no id becomes a number.
    """
    import pyarrow
    import pyarrow.parquet

    types = {"corpus-ids": pyarrow.list_(pyarrow.string()), "score": pyarrow.int32()}
    group = list(islice(rows, GROUP))
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in group[0]])
    folder.mkdir()
    draft = folder / "draft.parquet"
    with pyarrow.parquet.ParquetWriter(draft, schema) as writer:
        while group:
            writer.write_table(pyarrow.Table.from_pylist(group, schema))
            group = list(islice(rows, GROUP))
    # the digest, as in hub repositories: the datasets library caches a local folder by the names in its
    # README alone, and would return the data of an earlier export to the same place
    path = draft.rename(folder / f"{split}-00000-of-00001-{digest(draft)[:16]}.parquet")
    return f"{folder.name}/{path.name}"


def _readme(files: dict[str, str], exported: ExportedPool) -> str:
    configs = named_configs((config, SPLIT, path) for config, path in files.items())
    count = len(set(chain.from_iterable(exported.pool.values())))
    return read_text(HERE / "mteb.md").format(
        configs=configs, documents=count, topics=len(exported.pool), unjudged=UNJUDGED
    )


def write_trec_pool(path: Path, exported: ExportedPool) -> None:
    """Write ``qid docid`` lines in the pool's order, ``.gz`` by suffix; NIST's lists are the second column by topic."""
    lines = (f"{qid} {docid}\n" for qid, docids in exported.pool.items() for docid in docids)
    write_packed(path, lines)


def write_template(path: Path, exported: ExportedPool) -> None:
    """Write qrels with every document of the pool at -1: for trec_eval pooled and not judged, so not relevant."""
    write_qrels(path, {qid: dict.fromkeys(docids, UNJUDGED) for qid, docids in exported.pool.items()})


class _Form(NamedTuple):
    description: str
    write: Callable[[Path, ExportedPool], None]
    suffixes: tuple[str, ...] = ()  # by which the tool recognises the file; none: any name, or a folder
    shows_text: bool = True
    companion: str = ""  # suffix of a second file
    is_folder: bool = False  # which has its note in itself
    package: str = ""  # that it is written by, where this is not installed with Heed


_FORMS = {
    "trec-pool": _Form("'qid docid' lines, .gz by suffix", write_trec_pool, shows_text=False),
    "qrels-template": _Form("qrels with grade -1, pooled and not judged", write_template, shows_text=False),
    "jsonl": _Form(
        "one object a document, with query, instruction, title, text and a grade to fill in",
        write_jsonl,
        (".jsonl",),
    ),
    "csv": _Form("the same as a table in UTF-8; no cell becomes a formula", write_csv, (".csv",)),
    "xlsx": _Form("the same as an Excel workbook", write_xlsx, (".xlsx",)),
    "label-studio": _Form(
        "Label Studio's tasks, and its labelling configuration (.xml)", write_label_studio, (".json",), companion=".xml"
    ),
    "doccano": _Form(
        "doccano's text classification, and its labels (.labels.json)",
        write_doccano,
        (".jsonl",),
        companion=".labels.json",
    ),
    "rank_llm": _Form("rank_llm's requests", write_rank_llm, (".jsonl",)),
    "mteb": _Form(
        "a folder as MTEB's data sets: corpus, queries, instruction, top_ranked, qrels (needs pyarrow: make models)",
        write_mteb,
        is_folder=True,
        package="pyarrow",
    ),
}
FORMATS = {name: form.description for name, form in _FORMS.items()}  # for a command's help


def check_form(form: str, path: Path) -> None:
    """Raise :class:`UsageError` for an unknown form, without its package, and for a suffix that its tool refuses.

    :class:`DataError` where a file or folder is there that is no export, or was changed since, as by its assessor.
    """
    if form not in _FORMS:
        raise UsageError(f"export as {form!r}: expected one of {', '.join(_FORMS)}")
    chosen = _FORMS[form]
    if chosen.suffixes and not path.name.endswith(chosen.suffixes):
        raise UsageError(
            f"{path}: {form} is recognised by its suffix; name a file that ends in {' or '.join(chosen.suffixes)}"
        )
    if chosen.package:
        require(chosen.package, f"export as {form}")
    if chosen.is_folder:
        check_new_folder(path)
        return
    present, note = _digests(chosen, path), read_note(note_of(path))
    if present and not (note and (not note.finished or present.items() <= note.files.items())):
        problem = f"{brief([*present])} is there already, and is no export, or was changed since"
        raise DataError(f"{path}: {problem}; name another file, or remove it")


def _digests(form: _Form, path: Path) -> dict[str, str]:
    """Return the digests of those files of an export to ``path`` that are there, by name."""
    files = [path, path.with_suffix(form.companion)] if form.companion else [path]
    return {file.name: digest(file) for file in files if file.exists()}


def export(form: str, path: Path, exported: ExportedPool) -> None:
    """Write ``exported`` to ``path``, a file or a folder, in one of :data:`FORMATS`; complete or not at all.

    Raises as :func:`check_form` does, and :class:`HeedError` for a folder that is not empty and for what
    :func:`check_exported` and the form refuse.
    Topics without a document are logged and left out.
    """
    check_form(form, path)
    chosen = _FORMS[form]
    empty = [qid for qid, docids in exported.pool.items() if not docids]
    if empty:
        log.info(f"{number_of(len(empty), 'topic')} of the pool without documents, left out: {brief(empty)}")
    exported = exported._replace(pool={qid: docids for qid, docids in exported.pool.items() if docids})
    check_exported(exported, chosen.shows_text)
    if chosen.is_folder:
        chosen.write(path, exported)
        return
    write_note(note_of(path), Note({}, _digests(chosen, path), finished=False))
    try:
        chosen.write(path, exported)
    finally:
        write_note(note_of(path), Note({}, _digests(chosen, path)))
