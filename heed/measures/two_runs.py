"""Two run files compared, or three: which topics belong together, by which measures, and what the figures say."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NotRequired, TypedDict

from heed.errors import DataError, fail
from heed.files import read_lines
from heed.formats.topic_ids import by_ending, lacking_topics, number_hint, renamed, stem, topic_id
from heed.measures.comparison import (
    Absence,
    by_qid,
    compare_pair,
    warn_of_judgements,
    warn_of_no_values,
    warn_of_runs,
    warn_of_single_precision,
)
from heed.measures.pairwise import GOLD_RANK, gold_of, mean_rank
from heed.measures.per_topic import Inputs, Measure, PerTopic, difference, mean
from heed.measures.registry import COMING, JUDGED, check_pair, is_of_pair, standard
from heed.measures.significance import interval
from heed.measures.single_run import ROBUSTNESS, ROBUSTNESS_OF, robustness
from heed.progress import brief, log, warn
from heed.types import Qrels, Run

MEASURES = ("nDCG@20", JUDGED, "AP")  # standard measures of each run, beside the pairwise ones


def select(run: Run, condition: str) -> Run:
    """Return the topics of ``run`` under ``condition`` by the endings of their ids, or all if none is."""
    selected = {qid: scores for qid, scores in run.items() if by_ending(qid)[1] in ("", condition)}
    return selected or run


def pair(
    base: Collection[str], new: Collection[str], path: Path | None = None, judged: Sequence[Collection[str]] = ((), ())
) -> dict[str, str]:
    """Return ``new qid -> base qid``, from a file of ``new<TAB>base`` lines or by the ids.

    Without a file: ids with the same stem belong together, else a new id belongs to the base id
    that is its part before the last ``_``. Topics that are ``judged``, for the base run and for the new one, are
    paired where a run lacks them too, since they count 0 in its means. Warns of them, and of ids without a partner.
    Raises :class:`DataError` if nothing can be paired, or for a bad line of the file.
    """
    bases, news = _with_judged(base, judged[0], "original"), _with_judged(new, judged[1], "changed")
    pairs = _read(path, bases, news) if path else _by_ids(bases, news)
    hint = number_hint(new, base)
    for kind, run, paired in (("new", new, set(pairs)), ("base", base, set(pairs.values()))):
        if pairs and (alone := sorted(set(run) - paired)):
            warn(f"{len(alone)} topics of the {kind} run have no partner and are left out: {brief(alone)}{hint}")
        if lacking := sorted(paired.difference(run)):
            warn(f"{lacking_topics(lacking, f'the {kind} run')}{number_hint(lacking, run)}")
    if not pairs:
        raise DataError(
            f"no topic of the new run ({brief(sorted(new))}) belongs to one of the base run ({brief(sorted(base))}); "
            f"name them in a file, pairs=TSV, lines of new qid, tab, base qid{hint}"
        )
    return pairs


def _with_judged(qids: Collection[str], judged: Collection[str], condition: str) -> list[str]:
    """Return a run's topics, and those judged under its condition that it lacks."""
    by_stem = {stem(qid): qid for qid in judged if by_ending(qid)[1] in ("", condition)}
    return [*qids, *(by_stem[name] for name in sorted(by_stem.keys() - set(map(stem, qids))))]


def _by_ids(base: Collection[str], new: Collection[str]) -> dict[str, str]:
    by_stem = {stem(qid): qid for qid in base}
    partners = {qid: by_stem.get(stem(qid)) or by_stem.get(stem(qid).rpartition("_")[0]) for qid in new}
    return {qid: partner for qid, partner in partners.items() if partner}


def _read(path: Path, base: Collection[str], new: Collection[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    problems = []
    for line_no, line in read_lines(path):
        fields = [*map(topic_id, line.split("\t"))]
        if not line.strip():
            continue
        if len(fields) != 2:
            problems.append(f"{path}, line {line_no}: {len(fields)} columns, expected new qid, tab, base qid")
        elif fields[0] in pairs:
            problems.append(f"{path}, line {line_no}: topic {fields[0]} has a partner already")
        elif fields[0] not in new or fields[1] not in base:
            side, qid = ("new", fields[0]) if fields[0] not in new else ("base", fields[1])
            problems.append(f"{path}, line {line_no}: topic {qid} is not in the {side} run")
        else:
            pairs[fields[0]] = fields[1]
    fail(problems)
    return pairs


def qrels_for(qrels: Qrels, pairs: Mapping[str, str]) -> Qrels:
    """Return ``qid -> grades``, where ``pairs`` gives the id of a topic in the qrels, or one with the same stem."""
    known = {qid: name for qid, partner in pairs.items() for name in (stem(partner), partner) if name in qrels}
    stems = {stem(partner) for partner in pairs.values()}
    alone = sorted(qid for qid in qrels.keys() - known.values() if stem(qid) not in stems)
    if alone:
        log.info(f"qrels: {len(alone)} of {len(qrels)} judged topics have no pair and are in no mean: {brief(alone)}")
    return {qid: qrels[name] for qid, name in known.items()}


def paired(base: Run, new: Run, pairs: Mapping[str, str], qrels: Qrels, new_qrels: Qrels) -> Inputs:
    """Return two runs and their judgements under the new run's qids; ``pairs`` maps them to the base run's."""
    unchanged = {qid: qid for qid in pairs}
    return Inputs(
        base=renamed(base, pairs),
        new=renamed(new, unchanged),
        qrels=qrels_for(qrels, pairs),
        new_qrels=qrels_for(new_qrels, unchanged),
        query_of=pairs,
    )


def compare(inputs: Inputs, measures: Sequence[str | Measure] = MEASURES) -> dict[str, PerTopic]:
    """Return ``measure -> qid -> value`` for every measure that ``inputs`` allow, sorted by qid.

    They are the pairwise measures, those of ``measures`` that compare two runs, and the others of ``measures`` for each
    run by itself, which need its judgements. p-MRR needs documents that changed; p-MRR kept and selectivity, beside it,
    judgements of both runs; IRS the size of the corpus as well; NFR traps; WISE and SICR a reversed run. Raises
    :class:`UsageError` where one of the latter is asked for by name without these.
    """
    of_pair = [measure for measure in measures if is_of_pair(measure)]
    of_each = [measure for measure in measures if not is_of_pair(measure)]
    check_pair(of_pair, bool(inputs.traps), bool(inputs.reverse), bool(inputs.corpus_size))
    values = compare_pair(inputs, COMING)
    if inputs.reverse:
        gold = gold_of(inputs)
        values |= by_qid({f"{GOLD_RANK} {role}": mean_rank(run, gold) for role, run in inputs.runs.items()})
    return values | compare_pair(inputs, of_pair) | by_qid(_of_each_run(inputs, of_each))


def _of_each_run(inputs: Inputs, measures: Sequence[str | Measure]) -> dict[str, PerTopic]:
    values: dict[str, PerTopic] = {}
    base_values = standard(inputs.base, inputs.qrels, measures)
    new_values = standard(inputs.new, inputs.new_qrels, measures)
    for measure, new in new_values.items():
        base = base_values[measure]
        values |= {f"{measure} base": base, f"{measure} new": new}
        values[f"{measure} change"] = difference(new, base)
    if inputs.new_qrels:
        warn_of_no_values(new_values)
    several = len(set(inputs.query_of.values())) < len(inputs.query_of)
    if several and inputs.new_qrels:
        per_topic = standard(inputs.new, inputs.new_qrels, [ROBUSTNESS_OF])[ROBUSTNESS_OF]
        values[ROBUSTNESS] = robustness(per_topic, inputs.query_of)
    return values


def warn_of_comparison(inputs: Inputs, values: Mapping[str, PerTopic]) -> None:
    """Warn of what makes ``values``, those of :func:`compare`, meaningless or weak."""
    warn_of_judgements(inputs)
    warn_of_runs(inputs, values)
    warn_of_single_precision({"base": (inputs.base, inputs.qrels), "new": (inputs.new, inputs.new_qrels)})


class Statistics(TypedDict):
    """A mean over ``n`` topics with its 95% interval, and the shares of topics above, at and below 0.

    ``in_neither`` and ``in_one_only``, of some measures: the mean shares of their documents that :func:`absent` counts.
    """

    mean: float
    n: int
    in_neither: NotRequired[float]
    in_one_only: NotRequired[float]
    low: float
    high: float
    up: float
    equal: float
    down: float


def statistics(values: PerTopic, shares: Mapping[Absence, PerTopic] | None = None) -> Statistics:
    """Return the mean of ``values``, its interval, and the shares of topics up, equal and down.

    ``shares`` are those of :func:`absent`, whose means are given too.
    """
    ordered = [values[qid] for qid in sorted(values)]  # the bootstrap draws by position
    low, high = interval(ordered)
    figures = Statistics(
        mean=mean(values),
        n=len(ordered),
        low=low,
        high=high,
        up=sum(value > 0 for value in ordered) / len(ordered),
        equal=sum(value == 0 for value in ordered) / len(ordered),
        down=sum(value < 0 for value in ordered) / len(ordered),
    )
    for kind, of_topics in (shares or {}).items():
        figures[kind] = mean(of_topics)
    return figures
