"""Exports of a pool: the forms that annotation tools, rerankers and MTEB take."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from heed.addons.judging.exchange.exported_pool import ExportedPool, check_exported
from heed.addons.judging.exchange.folder_layouts import write_mteb
from heed.addons.judging.exchange.json_files import write_doccano, write_jsonl, write_label_studio, write_rank_llm
from heed.addons.judging.exchange.table_files import write_csv, write_xlsx
from heed.errors import UsageError
from heed.extras import require
from heed.files import write_packed
from heed.formats.trec_files import write_qrels
from heed.progress import brief, log, number_of
from heed.types import UNJUDGED

__all__ = ["FORMATS", "ExportedPool", "check_form", "export"]


def write_trec_pool(path: Path, exported: ExportedPool) -> None:
    """Write ``qid docid`` lines in the pool's order, ``.gz`` by suffix; NIST's lists are the second column by topic."""
    lines = (f"{qid} {docid}\n" for qid, docids in exported.pool.items() for docid in docids)
    write_packed(path, "".join(lines).encode())


def write_template(path: Path, exported: ExportedPool) -> None:
    """Write qrels with every document of the pool at -1: for trec_eval pooled and not judged, so not relevant."""
    write_qrels(path, {qid: dict.fromkeys(docids, UNJUDGED) for qid, docids in exported.pool.items()})


class _Form(NamedTuple):
    description: str
    write: Callable[[Path, ExportedPool], None]
    suffixes: tuple[str, ...] = ()  # by which the tool recognises the file; none: any name, or a folder
    shows_text: bool = True
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
        "Label Studio's tasks, and its labelling configuration (.xml)", write_label_studio, (".json",)
    ),
    "doccano": _Form("doccano's text classification, and its labels (.labels.json)", write_doccano, (".jsonl",)),
    "rank_llm": _Form("rank_llm's requests", write_rank_llm, (".jsonl",)),
    "mteb": _Form(
        "a folder as MTEB's data sets: corpus, queries, instruction, top_ranked, qrels (needs pyarrow: make models)",
        write_mteb,
        package="pyarrow",
    ),
}
FORMATS = {name: form.description for name, form in _FORMS.items()}  # for --help


def check_form(form: str, path: Path) -> None:
    """Raise :class:`UsageError` for an unknown form, without its package, and for a suffix that its tool refuses."""
    if form not in _FORMS:
        raise UsageError(f"export as {form!r}: expected one of {', '.join(_FORMS)}")
    chosen = _FORMS[form]
    if chosen.suffixes and not path.name.endswith(chosen.suffixes):
        raise UsageError(
            f"{path}: {form} is recognised by its suffix; name a file that ends in {' or '.join(chosen.suffixes)}"
        )
    if chosen.package:
        require(chosen.package, f"export as {form}")


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
    chosen.write(path, exported)
