"""Turn what annotation tools give back into qrels: Label Studio, doccano, Relevation, CSV, Excel, JSON lines."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heed.errors import HeedError, fail
from pipelines.options import run_command, talk_options

if TYPE_CHECKING:
    from heed.exchange.judgement_files import Record
    from heed.exchange.judgement_labels import Judgement

FORMATS = ("label-studio", "doccano", "csv", "xlsx", "jsonl", "relevation", "qrels")
RULES = ("error", "majority", "highest")  # where assessors differ
SUFFIXES = {".json": "label-studio", ".jsonl": "jsonl", ".csv": "csv", ".tsv": "csv", ".xlsx": "xlsx"}


def parser() -> argparse.ArgumentParser:
    """The command line of ``python -m pipelines.judgements``."""
    made = argparse.ArgumentParser(prog="python -m pipelines.judgements", description=__doc__)
    made.add_argument("file", nargs="+", type=Path, metavar="FILE", help="what the tool exported; several assessors'")
    made.add_argument("--out", type=Path, required=True, metavar="QRELS", help="the qrels to write")
    made.add_argument(
        "--format", choices=("auto", *FORMATS), default="auto", help="form of the files (default: by their suffixes)"
    )
    made.add_argument(
        "--grades",
        action="append",
        metavar="LABEL=GRADE,…",
        help="grades of labels that are words; then all other labels are errors. Repeatable. "
        "(default: labels are whole numbers, and negative ones mean not judged, as for trec_eval)",
    )
    made.add_argument(
        "--resolve",
        choices=RULES,
        default=RULES[0],
        help="where assessors differ: stop, take the grade of most assessors (of a tie the highest), or the highest "
        "grade (default error)",
    )
    made.add_argument(
        "--pool", type=Path, metavar="POOL", help="refuse documents outside this pool, count what is open"
    )
    made.add_argument("--map", type=Path, metavar="IDS", help="ids.json of the export for Relevation")
    talk_options(made)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; gives back the exit status."""
    return run_command(parser(), _run, argv)


def _run(options: argparse.Namespace) -> None:
    from heed.exchange.judgement_votes import graded, parse_grades, resolved
    from heed.io.pools import read_pool
    from heed.io.trec_files import write_qrels
    from heed.progress import brief, log, timed

    grades = parse_grades(options.grades or [])
    with timed("judgements") as work:
        judgements = gather(options.file, options.format, options.map)
        work.did(len(judgements), "records")
    pool = read_pool(options.pool) if options.pool else None
    votes = graded(judgements, grades, pool)
    qrels = resolved({key: found for key, found in votes.items() if found}, options.resolve)
    fail([] if qrels else [f"none of {len(votes)} documents is judged; a grade stands in the field grade or label"])
    write_qrels(options.out, qrels)
    count = sum(map(len, qrels.values()))
    log.info(f"{options.out}: {count} judgements of {len(qrels)} topics")
    unjudged = [f"{qid} {docid}" for (qid, docid), found in sorted(votes.items()) if not found]
    if unjudged:
        log.info(f"{len(unjudged)} documents are not judged and not in it (topic, document): {brief(unjudged)}")


def gather(files: Sequence[Path], form: str, renamed: Path | None) -> "list[Judgement]":
    """Every judgement of ``files``, those that are open too; ``renamed`` is the map of Relevation's ids.

    Raises :class:`HeedError` naming every record that is not as the form has it, and where the
    files come from several conditions.
    """
    forms = [_form(path) if form == "auto" else form for path in files]
    if renamed and "relevation" not in forms:
        raise HeedError(f"--map {renamed}: renames the ids of Relevation's files, and none is given")
    judgements: list[Judgement] = []
    problems: list[str] = []
    for path, one in zip(files, forms, strict=True):
        read, judge = _reader(one, renamed)
        for record in read(path):
            try:
                judgements += judge(record)
            except HeedError as error:
                problems.append(str(error))
    fail(problems)
    conditions = {judgement.condition: judgement.place for judgement in judgements if judgement.condition}
    if len(conditions) > 1:
        places = ", ".join(f"{name} ({place})" for name, place in sorted(conditions.items()))
        raise HeedError(f"judgements under several conditions: {places}; make the qrels of each apart")
    return judgements


def _form(path: Path) -> str:
    """The form of a file by its suffix; without a known one, qrels or Relevation's by column 2."""
    from heed.exchange.judgement_files import column_records

    known = SUFFIXES.get(Path(path.name.removesuffix(".gz")).suffix)
    if known:
        return known
    second = next((record.fields["second"] for record in column_records(path)), "0")
    if second != "0":
        raise HeedError(f"{path}: column 2 is {second}, as Relevation writes; name --format relevation, or qrels")
    return "qrels"


def _reader(
    form: str, renamed: Path | None
) -> "tuple[Callable[[Path], Iterator[Record]], Callable[[Record], list[Judgement]]]":
    """How files of ``form`` are read, and what their records say; the JSON forms are known by their fields."""
    from heed.exchange import judgement_files, judgement_labels

    if form == "csv":
        return judgement_files.csv_records, judgement_labels.judged_fields
    if form == "xlsx":
        return judgement_files.xlsx_records, judgement_labels.judged_fields
    if form == "qrels":
        return judgement_files.column_records, judgement_labels.judged_columns
    if form == "relevation":
        return judgement_files.column_records, judgement_labels.renaming(renamed)
    return judgement_files.json_records, judgement_labels.judged_item


if __name__ == "__main__":
    sys.exit(main())
