"""Pool files: ``{"qid", "docids"}`` a line, documents in the pool's order; the one reader and the one writer."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from heed.errors import DataError, fail
from heed.files import packed, read_objects, write_bytes
from heed.formats.topic_ids import with_ids
from heed.ranking import in_order

Pool = dict[str, list[str]]  # qid -> docids


def write_pool(path: Path, pooled: Mapping[str, Sequence[str]]) -> None:
    """Write ``pooled``: topics by :func:`heed.ranking.in_order`, documents as given; gzipped by suffix.

    A file that holds the same is left as it is.
    """
    lines = (json.dumps({"qid": qid, "docids": [*pooled[qid]]}, ensure_ascii=False) for qid in in_order(pooled))
    content = packed(path, "".join(f"{line}\n" for line in lines).encode())
    if not path.is_file() or path.read_bytes() != content:
        write_bytes(path, content)


def read_pool(path: Path) -> Pool:
    """Read a pool; raises :class:`DataError` naming bad lines, topics or documents that come twice, an empty file."""
    pooled: Pool = {}
    problems = []
    for line_no, record in read_objects(path):
        qid, docids = record.get("qid"), record.get("docids")
        if not isinstance(qid, str) or qid.split() != [qid]:
            problems.append(f"{path}, line {line_no}: qid is {qid!r}, expected a word")
        elif not isinstance(docids, list) or not all(isinstance(docid, str) and docid for docid in docids):
            problems.append(f"{path}, line {line_no}: docids of topic {qid} must be a list of ids")
        elif qid in pooled:
            problems.append(f"{path}, line {line_no}: topic {qid} comes twice; keep one line")
        elif len(set(docids)) < len(docids):
            twice = next(docid for docid, times in Counter(docids).items() if times > 1)
            problems.append(f"{path}, line {line_no}: document {twice} comes twice in topic {qid}; keep one")
        else:
            pooled[qid] = docids
    fail(problems)
    if not pooled:
        raise DataError(f'{path}: holds no pool lines; expected {{"qid": …, "docids": […]}}')
    return with_ids(pooled, path)
