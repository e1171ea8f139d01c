"""Judgements in any form: TREC's qrels, BEIR's and MTEB's rows, JSON, or the test split of a data set."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import msgspec

from heed.errors import DataError, fail
from heed.files import read_text, unpacked_name
from heed.formats.data_set_folders import is_data_set
from heed.formats.data_sets import grades_of, read_rows, test_qrels
from heed.formats.trec_files import COLUMNS, JUDGED, as_judged, read_qrels
from heed.types import Qrels

JSON_OR_PARQUET = (".jsonl", ".parquet")


def read_judgements(
    path: Path | Sequence[Path], only_language: str | None = None, encoding: str | None = None
) -> Qrels:
    """Return the qrels of a file in TREC's, BEIR's, MTEB's or JSON's form, or of the test split of a data set's folder.

    Several files are rows of one split. Raises :class:`DataError` as the readers of these forms do; see
    :func:`heed.formats.trec_files.read_qrels` for ``only_language``.
    """
    files = list(path) if not isinstance(path, Path) else test_qrels(path) if is_data_set(path) else [path]
    fail([] if files else [f"{path}: no judgements in it; expected qrels/test.tsv"])
    if len(files) == 1 and unpacked_name(files[0]).endswith(".json"):
        try:  # as pytrec_eval, ranx and BEIR take them
            content = read_text(files[0], encoding)
            return as_judged(msgspec.json.decode(content, type=Qrels, strict=False), files[0])
        except (msgspec.MsgspecError, ValueError) as error:
            raise DataError(f'{path}: {error}; expected grades by docid by qid, as {{"1": {{"d1": 2}}}}') from error
    if len(files) == 1 and not unpacked_name(files[0]).endswith(JSON_OR_PARQUET):
        return read_qrels(files[0], only_language, encoding)
    rows = read_rows(files, encoding)
    first = next(rows, None)
    if first and "query" in first.fields and not first.fields.keys() & {*COLUMNS[1]}:
        raise first.problem(f"found a topic, expected judgements: {JUDGED}, or rows with query-id, corpus-id, score")
    return grades_of(chain([first] if first else [], rows))
