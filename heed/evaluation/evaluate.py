"""Every figure of a collection's runs: each condition by itself, and pairs of conditions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from heed.evaluation.comparison import Inputs, compare
from heed.evaluation.summary import GOLD_RANK, Detail, Shift
from heed.io.pairs import renamed
from heed.measures.judged import PerTopic
from heed.measures.pairwise import mean, mean_rank, no_longer_relevant, robustness, standard, still_relevant
from heed.measures.standard import STANDARD
from heed.progress import brief, log
from heed.ranking import ranks
from heed.types import ABLATIONS, Qrels, Run, Topic, under

Runs = Mapping[tuple[str, str], Run]  # (system, condition) -> run


class Pair(NamedTuple):
    """Two conditions that are compared, by which measures; ``reverse`` is the third one of WISE and SICR."""

    base: str
    new: str
    measures: tuple[str, ...]
    reverse: str = ""


CHANGED = Pair("original", "changed", ("p-MRR",))  # FollowIR and mFollowIR


class Judging(NamedTuple):
    """What the runs of a collection are judged by.

    ``qrels`` by condition, where ``query`` and the ablations take those of ``original`` if they have none;
    ``measures`` of every condition; ``pairs`` that are compared; ``traps`` for NFR by qid;
    ``robust`` asks for Robustness@10 over the topics of the same query and for the mean rank of gold
    documents; ``types`` are the kinds of instruction that get rows of their own.
    """

    qrels: dict[str, Qrels]
    measures: tuple[str, ...] = STANDARD
    pairs: tuple[Pair, ...] = (CHANGED,)
    traps: Mapping[str, set[str]] = {}
    robust: bool = False
    types: tuple[str, ...] = ()

    def of(self, condition: str) -> Qrels:
        """The judgements for ``condition``."""
        own = self.qrels.get(condition, {})
        return own or (self.qrels.get("original", {}) if condition in ("query", *ABLATIONS) else {})


def evaluate(runs: Runs, judging: Judging, topics: Sequence[Topic], corpus_size: int) -> list[Detail]:
    """The measures of each run over the judged topics of its condition, then those of each pair."""
    found: list[Detail] = []
    for (system, condition), run in runs.items():
        values = _of_condition(run, judging, condition, under(topics, condition))
        found += [_detail(system, condition, measure, per_topic) for measure, per_topic in values.items() if per_topic]
    for pair in judging.pairs:
        for system in dict.fromkeys(system for system, _ in runs):
            values = _of_pair(system, runs, judging, pair, topics, corpus_size)
            condition = f"{pair.base}>{pair.new}"
            found += [_detail(system, condition, measure, per_topic) for measure, per_topic in values.items()]
    return found + list(_by_type(found, judging, topics))


def _of_condition(run: Run, judging: Judging, condition: str, topics: Sequence[Topic]) -> dict[str, PerTopic]:
    qids = {topic.qid for topic in topics}
    judged = {qid: grades for qid, grades in judging.of(condition).items() if qid in qids}
    if not judged:
        return {}
    found = standard(run, judged, judging.measures)
    if judging.robust:
        found["Robustness@10"] = robustness(
            standard(run, judged, ["nDCG@10"])["nDCG@10"], {topic.qid: topic.query for topic in topics}
        )
        found[GOLD_RANK] = mean_rank(run, still_relevant(judging.of("query"), judging.of("original")))
    return found


def _of_pair(
    system: str, runs: Runs, judging: Judging, pair: Pair, topics: Sequence[Topic], corpus_size: int
) -> dict[str, PerTopic]:
    base, new = runs.get((system, pair.base)), runs.get((system, pair.new))
    if base is None or new is None or not judging.of(pair.base) or not judging.of(pair.new):
        return {}
    bases = _bases(topics, pair.new)
    qrels, new_qrels = _judged(judging, pair, bases)
    changed = no_longer_relevant(qrels, new_qrels)
    given = Inputs(
        base=renamed(base, bases),
        new=new,
        reverse=runs.get((system, pair.reverse), {}),
        qrels=qrels,
        new_qrels=new_qrels,
        changed=changed,
        traps=judging.traps,
        corpus_size=corpus_size if "IRS" in pair.measures else 0,
        query_of=bases,
    )
    found = compare(given, (), "paper")
    _tell_left_out(system, found.get("p-MRR", {}), changed)
    return {measure: found[measure] for measure in pair.measures if measure in found}


def _bases(topics: Sequence[Topic], condition: str) -> dict[str, str]:
    """For each topic of ``condition`` the qid under which its query is run alone."""
    return {topic.qid: topic.base or topic.qid for topic in under(topics, condition)}


def _judged(judging: Judging, pair: Pair, bases: Mapping[str, str]) -> tuple[Qrels, Qrels]:
    """The judgements of both sides of a pair, by the new side's qids."""
    return renamed(judging.of(pair.base), bases), renamed(judging.of(pair.new), {qid: qid for qid in bases})


def _tell_left_out(system: str, values: PerTopic, changed: Mapping[str, set[str]]) -> None:
    absent = sorted(changed.keys() - values.keys())
    if absent:
        log.info(f"{system}: p-MRR is over {len(values)} of {len(changed)} topics; not in both runs: {brief(absent)}")


def _by_type(found: Iterable[Detail], judging: Judging, topics: Sequence[Topic]) -> Iterator[Detail]:
    """The figures of instructed topics once more for each kind of instruction, with it as the condition."""
    pairs = {f"{pair.base}>{pair.new}" for pair in judging.pairs} | {pair.new for pair in judging.pairs}
    kinds = {topic.qid: topic.type for topic in topics}
    instructed = [one for one in found if one["condition"] in pairs]
    for kind in judging.types:
        for one in instructed:
            values = {qid: value for qid, value in one["per_topic"].items() if kinds.get(qid) == kind}
            if values:
                yield _detail(one["system"], kind, one["measure"], values)


def _detail(system: str, condition: str, measure: str, values: PerTopic) -> Detail:
    ordered = dict(sorted(values.items()))  # not as the judgements or the topics happen to be
    return Detail(
        system=system, condition=condition, measure=measure, value=mean(values), n=len(values), per_topic=ordered
    )


def shifts(runs: Runs, judging: Judging, topics: Sequence[Topic]) -> list[Shift]:
    """The rank shift, in the first pair, of every document that stays relevant or no longer is.

    ``compliant`` and ``violating`` are the two groups.
    """
    pair = judging.pairs[0]
    bases = _bases(topics, pair.new)
    qrels, new_qrels = _judged(judging, pair, bases)
    groups = {
        "compliant": still_relevant(qrels, new_qrels),
        "violating": no_longer_relevant(qrels, new_qrels),
    }
    found = []
    for system in dict.fromkeys(system for system, _ in runs):
        base, new = renamed(runs.get((system, pair.base), {}), bases), runs.get((system, pair.new), {})
        for group, judged in groups.items():
            for qid in sorted(judged.keys() & base.keys() & new.keys()):
                docids = sorted(judged[qid])
                places = zip(docids, ranks(base[qid], docids), ranks(new[qid], docids), strict=True)
                found += [Shift(system=system, qid=qid, docid=d, group=group, base=o, new=s) for d, o, s in places]
    return found
