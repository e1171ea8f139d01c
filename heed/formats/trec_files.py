"""TREC run and qrels files, and pools: the one reader and the one writer of each."""

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, pairwise
from operator import ge, ne
from pathlib import Path

import msgspec

from heed.errors import DataError, fail
from heed.files import (
    CONTROL,
    numbered_lines,
    packed,
    read_lines,
    read_objects,
    read_raw_lines,
    read_texts,
    unpacked_name,
    word_of,
    write_bytes,
    write_packed,
)
from heed.formats.topic_ids import with_ids
from heed.progress import brief, log, number_of, warn
from heed.ranking import in_order, ranked
from heed.types import CONDITIONS, Qrels, Run, Subtopics, by_subtopic, subtopics_of

CONDITION_STEPS = {"query": 0, "original": 1, "og": 1, "changed": 2, "new": 2, "reversed": 2}
TAG = re.compile(rf"(.+)[-_.+]({'|'.join(CONDITION_STEPS)})", re.IGNORECASE)
NAMED = re.compile(rf".+[-_.+]({'|'.join(CONDITIONS)})(\.[^.]+){{0,2}}")

OTHER_FORMS = (".json", ".jsonl", ".parquet")  # of runs that are no TREC files


def warn_of_order(path: Path, run: Run, ranks: Mapping[str, Sequence[str]]) -> None:
    """Warn where the file's ``ranks``, by topic, contradict the scores; a topic without has them from 1 on by line.

    Also where a topic has one score for all its documents. Ranks that are no numbers say nothing.
    """
    several = {qid: list(scores.values()) for qid, scores in run.items() if len(scores) > 1}
    contrary = [
        qid
        for qid, scores in several.items()
        if (_contradict(ranks[qid], scores) if qid in ranks else not all(map(ge, scores, scores[1:])))
    ]
    if contrary:
        warn(
            f"{path}: ranks contradict scores in {len(contrary)} of {len(run)} topics ({brief(sorted(contrary))}): "
            "the scores decide, highest first, as in trec_eval; distances must be negated"
        )
    for warning in one_score(str(path), run):
        warn(warning)


def one_score(source: str, run: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return a warning of topics that have one score for all their documents, if there are such."""
    constant = sorted(qid for qid, scores in run.items() if len(scores) > 1 and len({*scores.values()}) == 1)
    hint = "; a lexical system gives it to a query of stop words alone" if len(constant) < len(run) else ""
    line = (
        f"{source}: one score for all documents in {len(constant)} of {len(run)} topics ({brief(constant)}): "
        f"their order is lost, the docids decide, as in trec_eval{hint}"
    )
    return [line] if constant else []


def _contradict(ranks: Sequence[str], scores: Sequence[float]) -> bool:
    """Whether a document of a greater rank has a higher score than one before it."""
    try:
        lines = sorted((int(rank), -score) for rank, score in zip(ranks, scores, strict=False))
    except ValueError:
        return False
    return any(rank < following and score > next_score for (rank, score), (following, next_score) in pairwise(lines))


def doubtful_names(called: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield why runs look exchanged, or of two systems, by what :func:`called_as` returns of each.

    They are in the order of the conditions that are compared. Those without the name of a condition say nothing.
    """
    named = [(name, *of_run) for name, of_run in called.items() if of_run]
    for (base, system, condition), (new, other, later) in pairwise(named):
        names = f"{base} and {new}: by their {'tags' if system and other else 'tags or names'}"
        if CONDITION_STEPS[condition.lower()] > CONDITION_STEPS[later.lower()]:
            yield f"{names}, …{condition} and …{later}, the base run and the new one look exchanged"
        if system and other and system != other:
            yield f"{names}, runs of two systems, {system} and {other}"


def called_as(path: Path) -> Sequence[str]:
    """Return the system and the condition in a run's tag, such as ``bm25-original``, else no system and its name's.

    Nothing where neither names a condition.
    """
    tag, name = TAG.fullmatch(_tag(path)), NAMED.fullmatch(path.name)
    return tag.groups() if tag else ("", name[1]) if name else ()


def _tag(path: Path) -> str:
    """Return the sixth column of a TREC file's first line; empty for other files."""
    if unpacked_name(path).endswith(OTHER_FORMS):
        return ""
    lines = (
        line.decode(errors="replace").split() for _, line in read_raw_lines(path) if not line.lstrip().startswith(b"#")
    )
    return next((fields[5] for fields in lines if len(fields) == 6), "")


NEUCLIR = ("zho", "fas", "rus")  # what column 2 of its judgements holds
COLUMNS = (  # what qid, docid and grade of judgements are called, in rows and in the first line of a table
    ("query-id", "query_id", "qid", "q_id", "topic", "topic_id"),
    ("corpus-id", "corpus_id", "docid", "doc_id", "did", "docno", "pid"),
    ("score", "grade", "relevance", "rel", "label"),
)
JUDGED = "topic 0 docid grade"
PIECE = 1 << 17  # characters
NUMBERS, GRADES = msgspec.json.Decoder(list[float]), msgspec.json.Decoder(list[int])  # many at once
QUOTED = re.compile(r'^"(.*)"$')


def write_run(path: Path, run: Mapping[str, Mapping[str, float]], tag: str) -> Run:
    """Write a run: topics by :func:`heed.ranking.in_order`, each best first, rank from 1, ``.gz`` by suffix.

    Returns the run as :func:`read_run` reads it from the file, in its order.

    A score is written as the shortest decimal that reads back as the same double, so that rounding
    makes no ties. Raises :class:`DataError` for a score that is not finite and for an id that a
    six-column file cannot hold.
    """
    fail(_unwritable(path, run, tag))
    written = {qid: {docid: float(run[qid][docid]) for docid in ranked(run[qid])} for qid in in_order(run) if run[qid]}
    ranks = [f" {rank} " for rank in range(1, max(map(len, written.values()), default=0) + 1)]
    write_packed(path, (_lines(qid, scores, ranks, tag) for qid, scores in written.items()))
    return written


def _lines(qid: str, scores: Mapping[str, float], ranks: Sequence[str], tag: str) -> str:
    """Return the lines of a topic; joined from columns they take half of the time of one format a line."""
    start, end = f"{qid} Q0 ", f" {tag}\n"
    rows = map("".join, zip(scores, ranks, map(repr, scores.values()), strict=False))  # there are ranks for the longest
    return f"{start}{f'{end}{start}'.join(rows)}{end}"


def as_tag(name: str) -> str:
    """Return ``name`` as a run's tag, which may hold letters, digits, ``_`` and, not first, ``-``."""
    return re.sub(r"[^\w-]", "-", name, flags=re.ASCII).lstrip("-") or "run"


def _unwritable(path: Path, run: Mapping[str, Mapping[str, float]], tag: str) -> list[str]:
    problems = [] if word_of(tag) else [f"{path}: tag {tag!r} holds white space or is empty; use one word"]
    for qid, scores in run.items():
        if not word_of(qid):
            problems.append(f"{path}: qid {qid!r} holds white space or is empty; a run file cannot carry it")
        elif qid.startswith("#"):
            problems.append(f"{path}: qid {qid!r} begins a comment, which readers skip; rename the topic")
        if " ".join(scores).split() == list(scores) and all(map(math.isfinite, scores.values())):
            continue  # as in nearly every topic, known without looking at its documents one by one
        for docid, score in scores.items():
            if not word_of(docid):
                problems.append(f"{path}: docid {docid!r} holds white space or is empty; a run file cannot carry it")
            if not math.isfinite(score):
                problems.append(f"{path}: topic {qid}, document {docid}: score {score}, expected a finite number")
    return problems


def read_run(path: Path, encoding: str | None = None, *, check_order: bool = False, shared_ids: bool = False) -> Run:
    """Read a TREC run file; ranks in the file are ignored, as trec_eval does, and words after the tag.

    With ``check_order`` it is a warning where its ranks say something else than its scores. With ``shared_ids`` a docid
    is in memory once for all topics, and for other such runs: a third of the memory, for more time (a fifth more, three
    times as much over half a million docids). Raises :class:`DataError` naming every bad line: not six columns, a score
    that is not a finite number, a document listed twice for a topic; and for an empty file.
    """
    run: Run = {}
    ranks: dict[str, list[str]] = {}  # of the topics that have others than these
    usual: list[str] = []
    problems: list[Problem] = []
    for numbers, qids, docids, line_ranks, scores in _run_lines(path, encoding, problems):
        for qid, part in _topics(qids):
            of_topic = run.setdefault(qid, {})
            start, end = len(of_topic), len(of_topic) + part.stop - part.start
            known = of_topic.keys() & docids[part] if of_topic else set()
            of_topic |= zip(map(sys.intern, docids[part]) if shared_ids else docids[part], scores[part], strict=True)
            if len(of_topic) < end:
                problems += _repeated(numbers[part], qid, docids[part], known)
            if check_order:
                usual += map(str, range(len(usual) + 1, end + 1))
                if qid in ranks or line_ranks[part] != usual[start:end]:
                    ranks.setdefault(qid, usual[:start]).extend(line_ranks[part])
    fail(f"{path}, line {number}: {problem}" for number, problem in sorted(problems))
    if not run:
        raise DataError(f"{path}: holds no run lines; expected topic Q0 docid rank score tag")
    if check_order:
        warn_of_order(path, run, ranks)
    return with_ids(run, path)


Problem = tuple[int, str]  # the number of a line, and what is wrong with it
RunLines = tuple[Sequence[int], list[str], list[str], list[str], list[float]]  # numbers, qids, docids, ranks, scores


def _run_lines(path: Path, encoding: str | None, problems: list[Problem]) -> Iterator[RunLines]:
    """Yield the lines of a run, many at once, but comments, whose number is logged; add to ``problems``."""
    comments, line_no = 0, 1
    for text in _pieces(read_texts(path, encoding)):
        if lines := _regular(text, line_no):
            yield lines
            line_no += len(lines[0])
            continue
        rows = []
        for number, line in numbered_lines(text, line_no):
            fields = without_words(line.split())
            score = parse_score(fields[4]) if len(fields) == 6 else None
            if fields and fields[0].startswith("#"):
                comments += 1
            elif score is not None:
                rows.append((number, fields[0], fields[2], fields[3], score))
            elif len(fields) == 6:
                problems.append((number, f"score {fields[4]!r}, expected a finite number"))
            elif fields:
                hint = ", as judgements have" if len(fields) == 4 else ""
                columns = f"{number_of(len(fields), 'column')}{hint}"
                problems.append((number, f"{columns}, expected 6 (topic Q0 docid rank score tag)"))
        if rows:
            numbers, qids, docids, ranks, scores = map(list, zip(*rows, strict=True))
            yield numbers, qids, docids, ranks, scores
        line_no += text.count("\n")
    _log_comments(path, comments)


def _pieces(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts of whole lines in smaller pieces, whose fields fit into a CPU's cache."""
    for text in texts:
        end = 0
        while end < len(text):
            start, end = end, text.find("\n", end + PIECE) + 1 or len(text)
            yield text[start:end]


def _regular(text: str, line_no: int) -> RunLines | None:
    """Return the lines of ``text``; None where one is a comment, or not six columns with a finite score."""
    fields = _split(text, 6)
    if not fields:
        return None
    try:
        scores = NUMBERS.decode(f"[{','.join(fields[4::7])}]")
    except msgspec.DecodeError:  # of numbers that JSON does not have too
        return None
    if len(scores) != len(fields) // 7 or not math.isfinite(sum(scores)):
        return None
    return range(line_no, line_no + len(scores)), fields[::7], fields[2::7], fields[3::7], scores


def _split(text: str, number: int) -> list[str]:
    """Return the fields of lines that have so many each, and behind each line a NUL.

    Empty where a line has more or fewer, or may begin with #.
    """
    whole, step = text if text.endswith("\n") else f"{text}\n", number + 1
    marked = whole.replace("\n", " \0 ")
    fields, lines = marked.split(), (len(marked) - len(whole)) // 2
    if "\0" in text or len(fields) != step * lines or fields[number::step] != ["\0"] * lines:
        return []
    return [] if "#" in text and any(qid[0] == "#" for qid in fields[::step]) else fields


def _topics(qids: Sequence[str]) -> Iterator[tuple[str, slice]]:
    """Yield each topic of successive lines with the part of them that it has."""
    starts = [0, *compress(range(1, len(qids)), map(ne, qids[1:], qids))]
    yield from ((qids[start], slice(start, end)) for start, end in pairwise([*starts, len(qids)]))


def _repeated(numbers: Sequence[int], qid: str, docids: Sequence[str], known: set[str]) -> Iterator[Problem]:
    """Yield what is wrong with those of ``docids``, on lines of a topic, that are ``known`` or further up."""
    for number, docid in zip(numbers, docids, strict=True):
        if docid in known:
            yield number, f"document {docid} is listed again for topic {qid}"
        known.add(docid)


def without_words(fields: list[str]) -> list[str]:
    """Return the columns of a run's line without words after its tag.

    All of them where an id has a blank in it, or the words may be another line, whose rank and score are numbers.
    """
    if len(fields) <= 6 or not fields[3].isdecimal() or parse_score(fields[5]) is not None:
        return fields
    numbers = sum(parse_score(word) is not None for word in fields[6:])
    return fields if numbers > 1 else fields[:6]


def is_run(path: Path) -> bool:
    """Return whether the first line of a file is that of a run."""
    fields = without_words(_first_fields(path))
    return len(fields) == 6 and parse_score(fields[4]) is not None


def is_qrels(path: Path) -> bool:
    """Return whether the first line of a file is that of qrels."""
    fields = _first_fields(path)
    return len(fields) == 4 and parse_score(fields[3]) is not None


def _first_fields(path: Path) -> list[str]:
    try:
        return next((line.split() for _, line in read_lines(path) if line.strip()), [])
    except DataError:
        return []


def read_qrels(path: Path, only_language: str | None = None, encoding: str | None = None) -> Qrels:
    """Read qrels: TREC's four columns, or a table (tabs; commas in ``.csv``) of three, or of ``COLUMNS``.

    Grades may be negative, or floats that equal an integer (``2.0``). With ``only_language``, lines
    whose second column names another of NeuCLIR's languages are left out (the official files hold
    all three); without it several languages are a warning, as is a repeated judgement, which counts
    once. Where column 2 has several values the grades of a topic are :class:`heed.types.SubtopicGrades`. Raises
    :class:`DataError` naming every bad line and contradiction, and for an empty file.
    """
    texts = [*_pieces(read_texts(path, encoding))]
    if qrels := _regular_qrels(texts):
        return as_judged(qrels, path)
    return parse_qrels(numbered_lines("".join(texts), 1), path, only_language)


def _regular_qrels(texts: Sequence[str]) -> Qrels:
    """Return qrels of lines ``topic 0 docid grade`` without repetition; empty where there is any other line."""
    qrels: Qrels = {}
    head = texts[0].partition("\n")[0] if texts else ""
    if any(len(head.split(separator)) == len(COLUMNS) for separator in "\t,"):  # of a table
        return {}
    for text in texts:
        fields = _split(text, 4)
        if not fields or CONTROL.search(text) or not {*fields[1::5]} <= {"0", "Q0"}:
            return {}
        try:
            grades = GRADES.decode(f"[{','.join(fields[3::5])}]")
        except msgspec.DecodeError:
            return {}
        docids = fields[2::5]
        if len(grades) != len(docids):  # one was a decimal comma's
            return {}
        for qid, part in _topics(fields[::5]):
            judged = qrels.setdefault(qid, {})
            size = len(judged) + part.stop - part.start
            judged |= zip(docids[part], grades[part], strict=True)
            if len(judged) != size:
                return {}
    return qrels


def parse_qrels(lines: Iterable[tuple[int, str]], path: Path, only_language: str | None = None) -> Qrels:
    """Return the qrels of numbered lines of ``path``; see :func:`read_qrels`."""
    topics: dict[str, Subtopics] = {}
    problems = []
    lines_read = 0
    left_out = set(NEUCLIR) - {only_language} if only_language else set()
    languages = set()
    for line_no, fields in _columns(without_comments(lines, path), path):
        if isinstance(fields, str):
            problems.append(f"{path}, line {line_no}: {fields}")
            continue
        if fields[1] in left_out:
            continue
        languages.add(fields[1])
        qid, docid, grade = fields[0], fields[2], parse_score(fields[3])
        if grade is None or not grade.is_integer():
            problems.append(f"{path}, line {line_no}: grade {fields[3]!r}, expected a whole number; round it first")
            continue
        subtopic = "0" if fields[1] == "Q0" else fields[1]
        before = topics.setdefault(qid, {}).setdefault(subtopic, {}).setdefault(docid, int(grade))
        if before != grade:
            again = f"document {docid} of topic {qid} has grade {grade:g}, and {before} further up"
            problems.append(f"{path}, line {line_no}: {again}; keep one")
        lines_read += 1
    fail(problems)
    several = [lang for lang in NEUCLIR if lang in languages]
    if len(several) > 1:
        warn(f"{path}: judgements of {', '.join(several)} are taken together, as for multilingual runs")
    repeated = lines_read - sum(len(grades) for subtopics in topics.values() for grades in subtopics.values())
    if repeated:
        warn(f"{path}: {repeated} judgements are repeated with the same grade and count once")
    if not topics:
        raise DataError(f"{path}: holds no judgements; expected {JUDGED}")
    return as_judged(by_subtopic(topics), path)


def as_judged(qrels: Qrels, where: object) -> Qrels:
    """Return qrels that were read, as :func:`with_ids` does; log that negative grades are not judged."""
    if negative := {grade for grades in qrels.values() for grade in grades.values() if grade < 0}:
        log.info(f"{where}: negative grades ({', '.join(map(str, sorted(negative)))}) are not judged, as in trec_eval")
    return with_ids(qrels, where)


def _columns(lines: Iterable[tuple[int, str]], path: Path) -> Iterator[tuple[int, list[str] | str]]:
    """Yield TREC's four columns of each line, in which 0 stands for a table's missing one, or the problem with them."""
    separator = "," if ".csv" in path.suffixes else "\t"
    expected: list[str] = []
    places = [-1]  # of qid, docid and grade in a table; empty in TREC's lines
    for line_no, line in lines:
        fields, cells = line.split(), line.split(separator) if places else []
        cells = [QUOTED.sub(r"\1", cell.strip()) for cell in cells]
        if fields and not expected:
            places = [index for names in COLUMNS for index, cell in enumerate(cells) if cell.lower() in names]
            if len(places) == len(COLUMNS):
                expected = cells
                continue
            if len(fields) == 6:
                raise DataError(f"{path}, line {line_no}: 6 columns, as a run has; expected judgements: {JUDGED}")
            places = [0, 1, 2] if len(cells) == 3 and parse_score(cells[2]) is not None else []
            expected = [names[0] for names in COLUMNS] if places else JUDGED.split()
        columns = cells if places and fields else fields
        if columns and len(columns) != len(expected):
            yield line_no, f"{len(columns)} columns, expected {len(expected)} ({' '.join(expected)})"
        elif CONTROL.search(line):
            yield line_no, f"holds a control character ({line[:60]!r}); remove it"
        elif columns:
            yield line_no, [cells[places[0]], "0", *(cells[index] for index in places[1:])] if places else fields


def write_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Write ``topic 0 docid grade`` lines, topics as in a run, documents in the order of ``qrels``, ``.gz`` by suffix.

    Column 2 is 0, as in nearly all of NIST's files, but for topics judged by subtopic. Raises :class:`DataError` for
    an id that holds white space or is empty, and without any judgement, since readers refuse an empty file.
    """
    fail(
        f"{path}: {kind} {name!r} holds white space, is empty or begins a comment; a qrels file cannot carry it"
        for qid, grades in qrels.items()
        for kind, name in (("qid", qid), *(("docid", docid) for docid in grades))
        if not word_of(name) or (kind == "qid" and name.startswith("#"))
    )
    lines = [
        f"{qid} {subtopic} {docid} {grade}\n"
        for qid in in_order(qrels)
        for subtopic, grades in (subtopics_of(qrels[qid]) or {"0": dict(qrels[qid])}).items()
        for docid, grade in grades.items()
    ]
    fail([] if lines else [f"{path}: there is no judgement to write; judge at least one document"])
    write_packed(path, lines)


def without_comments(lines: Iterable[tuple[int, str]], path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a run or qrels but comments, which begin with ``#`` as in trec_eval 10; log their number."""
    skipped = 0
    for line_no, line in lines:
        if line.lstrip().startswith("#"):
            skipped += 1
        else:
            yield line_no, line
    _log_comments(path, skipped)


def _log_comments(path: Path, skipped: int) -> None:
    if skipped:
        log.info(f"{path}: skipped {number_of(skipped, 'comment')}, lines that begin with #")


def parse_score(text: str) -> float | None:
    """Return the finite number in ``text``; None for other text."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


Pool = dict[str, list[str]]  # qid -> docids


def write_pool(path: Path, pooled: Mapping[str, Sequence[str]]) -> None:
    """Write ``pooled``: topics by :func:`heed.ranking.in_order`, documents as given; gzipped by suffix."""
    lines = (json.dumps({"qid": qid, "docids": [*pooled[qid]]}, ensure_ascii=False) for qid in in_order(pooled))
    content = packed(path, "".join(f"{line}\n" for line in lines).encode())
    if not path.is_file() or path.read_bytes() != content:
        write_bytes(path, content)


def read_pool(path: Path) -> Pool:
    """Read a pool; raises :class:`DataError` naming bad lines, topics or documents that come twice, an empty file."""
    pooled: Pool = {}
    problems = []
    if is_run(path):
        raise DataError(f"{path}: a run, expected a pool; make one: heed pool {path} --depth 100 --out pool.jsonl")
    for line_no, record in read_objects(path):
        if "docids" not in record and ("qid" not in record or {"query", "title"} & record.keys()):
            raise DataError(f'{path}: found {brief([*record])}, expected a pool: {{"qid": …, "docids": […]}}')
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


def is_pool(path: Path) -> bool:
    """Return whether a file is a pool."""
    try:
        return bool(read_pool(path))
    except DataError:
        return False
