"""Runs in any format (TREC files, tables, rank_llm results, MTEB predictions), and those given as a system's."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heed.errors import DataError, UsageError, did_you_mean, fail
from heed.files import parse_json, read_raw_lines, read_text, unpacked_name
from heed.formats.data_sets import read_rows
from heed.formats.topic_ids import by_ending, number_hint, with_ids
from heed.formats.trec_files import (
    COLUMNS,
    OTHER_FORMS,
    called_as,
    one_score,
    parse_score,
    read_run,
    warn_of_order,
)
from heed.progress import brief, gathering, warn
from heed.reuse import Recipe
from heed.types import CONDITIONS, Run, Topic, under

FORMS = (
    "NAME.CONDITION=FILE, NAME=FILE with {condition} in it, or NAME=FILE with ids that end -og and -changed; "
    "FILE#SUBSET for MTEB predictions of several subsets"
)


def read_any_run(
    path: Path, subset: str | None = None, encoding: str | None = None, *, shared_ids: bool = False
) -> Run:
    """Read a run: TREC's, JSON of scores by docid by qid, a Parquet table, rank_llm's or MTEB's; packed or not.

    Warns where the order of a file is not that of its scores.

    ``subset`` names the MTEB subset (``subset`` or ``subset/split``) where a file holds several.
    ``shared_ids`` as in :func:`heed.formats.trec_files.read_run`, for TREC's alone.
    Raises :class:`DataError` for a file of another form, naming what was found.
    """
    if not unpacked_name(path).endswith(OTHER_FORMS):
        return read_run(path, encoding, check_order=True, shared_ids=shared_ids)
    if path.suffix == ".parquet":
        return with_ids(_of_table(path), path)
    content = _load(path, encoding)
    if not isinstance(content, list | dict):
        raise DataError(f"{path}: holds a {type(content).__name__}; expected rank_llm results or MTEB predictions")
    run = _rank_llm(path, content) if isinstance(content, list) else _mteb(path, content, subset)
    fail([] if any(run.values()) else [f"{path}: holds no scores"])
    return with_ids(run, path)


def place_of(path: Path, qid: str) -> str:
    """Return ``file, line`` of a topic's first line in a TREC file; of other forms the file alone."""
    if unpacked_name(path).endswith(OTHER_FORMS):
        return str(path)
    lines = (line_no for line_no, line in read_raw_lines(path) if line.split()[:1] == [qid.encode()])
    return f"{path}, line {next(lines, 0)}"


def _load(path: Path, encoding: str | None) -> Any:
    """Return the JSON value of a file, or the list of those of a JSON Lines file."""
    try:
        text = read_text(path, encoding)
        if unpacked_name(path).endswith(".jsonl"):
            return [parse_json(line) for line in text.split("\n") if line.strip()]  # U+2028 ends no line
        return parse_json(text)
    except ValueError as error:
        raise DataError(f"{path}: not JSON ({error}); expected rank_llm results or MTEB predictions") from error


def _of_table(path: Path) -> Run:
    """Return the run of a Parquet file with a topic, a document and its score a row, as PyTerrier has it."""
    by_topic: dict[str, list[tuple[str, Any]]] = {}
    for row in read_rows([path]):
        by_topic.setdefault(row.word(*COLUMNS[0]), []).append((row.word(*COLUMNS[1]), row.value("score")))
    problems: list[str] = []
    run = {qid: _checked(f"{path}, topic {qid}", scored, problems) for qid, scored in by_topic.items()}
    fail(problems if run else [f"{path}: holds no row; expected columns of topic, document and score"])
    warn_of_order(path, run, {})
    return run


def _rank_llm(path: Path, results: list[Any]) -> Run:
    if isinstance(first := next(iter(results), None), dict):
        fail([f"{path}: topics; expected a run"] if isinstance(first.get("query"), str) else [])
        fail(
            [f"{path}: a pool, which has no scores; expected a run. heed annotate exports a pool"] * ("docids" in first)
        )
    run: Run = {}
    problems = []
    for number, result in enumerate(results, 1):
        where = f"{path}, result {number}"
        try:
            qid, candidates = str(result["query"]["qid"]), result["candidates"]
            scored = [(str(candidate["docid"]), candidate["score"]) for candidate in candidates]
        except (KeyError, TypeError) as error:
            problems.append(f"{where}: no {error}; expected query.qid and candidates with docid and score")
            continue
        if qid in run:
            problems.append(f"{where}: topic {qid} comes twice")
        run[qid] = _checked(where, scored, problems)
    fail(problems)
    warn_of_order(path, run, {})
    return run


def _mteb(path: Path, predictions: dict[str, Any], subset: str | None) -> Run:
    choices = {
        f"{name}/{split}": queries
        for name, splits in predictions.items()
        if name != "mteb_model_meta" and isinstance(splits, dict)
        for split, queries in splits.items()
        if isinstance(queries, dict)
    }
    by_topic = [scores for scores in predictions.values() if isinstance(scores, dict)]
    if any(isinstance(score, float | int) for scores in by_topic for score in scores.values()):
        choices = {path.name: predictions}  # as pytrec_eval, ranx and BEIR have a run, and MTEB 1 a split
    chosen = [name for name in choices if subset is None or name == subset or name.split("/")[0] == subset]
    if not choices:
        raise DataError(f'{path}: no run in it; expected {{"qid": {{"docid": score}}}}, or MTEB predictions')
    if len(chosen) != 1:
        of_subset = f"subset {subset}: " if subset else ""
        raise DataError(
            f"{path}: {of_subset}{len(chosen)} sets of predictions fit; subset=NAME chooses one of {', '.join(choices)}"
        )
    problems: list[str] = []
    run: Run = {}
    for qid, scores in choices[chosen[0]].items():
        if not isinstance(scores, dict):
            problems.append(f"{path}: topic {qid} holds no docid: score object")
            continue
        run[qid] = _checked(f"{path}, topic {qid}", list(scores.items()), problems)
    fail(problems)
    for warning in one_score(str(path), run):  # their order is no ranking
        warn(warning)
    return run


def _checked(where: str, scored: list[tuple[str, Any]], problems: list[str]) -> dict[str, float]:
    """Return the scores by docid, adding to ``problems``."""
    scores: dict[str, float] = {}
    for docid, score_text in scored:
        score = parse_score(str(score_text)) if not isinstance(score_text, bool) else None
        if score is None:
            problems.append(f"{where}: document {docid}: score {score_text!r}, expected a finite number")
        elif docid in scores:
            problems.append(f"{where}: document {docid} is listed again")
        else:
            scores[docid] = score
    return scores


class ExternalRun(NamedTuple):
    """A run made elsewhere, its file, and ``facts`` of it that its note keeps: its warnings, and what it is called."""

    run: Run
    path: Path
    facts: Recipe


def read_external_runs(
    runs_named: Sequence[str], topics: Sequence[Topic], conditions: Sequence[str], encoding: str | None = None
) -> dict[str, dict[str, ExternalRun]]:
    """Return by system and condition the runs that ``runs_named`` names, for those of ``conditions`` that they have.

    Each is named in one of ``FORMS``. Raises :class:`UsageError` for another form, and :class:`DataError` for a file
    that cannot be read or a run without any of its condition's topics.
    """
    runs: dict[str, dict[str, ExternalRun]] = {}
    for text in runs_named:
        system, files, file = _named_files(text, conditions)
        if file:
            whole = _read_external(file, encoding)
            by_condition = {each: whole._replace(run=run) for each, run in _by_endings(text, whole.run).items()}
        else:
            by_condition = {condition: _read_external(path, encoding) for condition, path in files.items()}
        if not by_condition:
            raise DataError(f"run: {text}: no such file for any of {', '.join(conditions)}")
        twice = [condition for condition in by_condition if condition in runs.get(system, ())]
        if twice:
            raise UsageError(f"run: {text}: {system} has a run of {', '.join(twice)} already; name another")
        for condition, external in by_condition.items():
            if condition in conditions:
                runs.setdefault(system, {})[condition] = _of_topics(text, external, topics, condition)
    return runs


def _read_external(file: str, encoding: str | None) -> ExternalRun:
    path, subset = _split(file)
    with gathering([]) as warnings:
        run = read_any_run(path, subset, encoding, shared_ids=True)
    return ExternalRun(run, path, {"warnings": warnings, "called": [*called_as(path)]})


def _named_files(text: str, conditions: Sequence[str]) -> tuple[str, dict[str, str], str]:
    """Return the system that ``text`` names, its files by condition, or the one file of all conditions."""
    name, equals, file = text.partition("=")
    if not (name and equals and file):
        raise UsageError(f"run: {text}: expected {FORMS}")
    system, _, condition = name.rpartition(".")
    if condition in CONDITIONS:
        return system, {condition: file}, ""
    if "{condition}" not in file:
        slip = re.search(r"\{\w*\}", file)
        if slip and not _split(file)[0].exists():
            raise UsageError(f"run: {text}: found {slip[0]}, expected {{condition}}")
        return name, {}, file
    files = {condition: file.replace("{condition}", condition) for condition in conditions}
    return name, {condition: path for condition, path in files.items() if _split(path)[0].exists()}, ""


def _split(file: str) -> tuple[Path, str | None]:
    """Return the file, and the subset of MTEB predictions that ``FILE#SUBSET`` names."""
    name, mark, subset = file.rpartition("#")
    return (Path(name), subset) if mark and not Path(file).exists() else (Path(file), None)


def _by_endings(text: str, run: Run) -> dict[str, Run]:
    """Return the parts of ``run`` whose ids end ``-og``, ``-changed`` or ``-reversed``, by condition."""
    runs: dict[str, Run] = {}
    for qid, scores in run.items():
        base, condition = by_ending(qid)
        if condition:
            runs.setdefault(condition, {})[base] = scores
    if not runs:
        meant = did_you_mean(text.partition("=")[0].rpartition(".")[2], CONDITIONS)
        raise UsageError(f"run: {text}: which condition is it a run of? {meant or f'expected {FORMS}'}")
    return runs


def _of_topics(text: str, external: ExternalRun, topics: Sequence[Topic], condition: str) -> ExternalRun:
    run, facts = external.run, external.facts
    qids = [topic.qid for topic in under(topics, condition)]
    known, hint = {qid: run[qid] for qid in qids if qid in run}, number_hint(run, qids)
    if not known:
        raise DataError(f"run: {text}: none of its topics ({brief([*run])}) is asked under {condition}{hint}")
    missing = [qid for qid in qids if qid not in known]
    if missing:
        lacks = f"run {text}: lacks {len(missing)} of {len(qids)} topics of {condition}: {brief(missing)}{hint}"
        warn(lacks)
        facts = {**facts, "warnings": [*facts["warnings"], lacks]}
    return external._replace(run=known, facts=facts)
