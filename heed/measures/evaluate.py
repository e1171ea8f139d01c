"""Evaluate a collection's runs: each condition by itself, and pairs of conditions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import product
from typing import NamedTuple

from heed.errors import DataError, UsageError
from heed.formats.topic_ids import lacking_topics, number_hint, renamed
from heed.languages import LANGUAGES
from heed.measures.comparison import (
    absent,
    as_seen,
    compare_pair,
    count_unseen,
    warn_of_foreign_ids,
    warn_of_judgements,
    warn_of_no_values,
    warn_of_runs,
    warn_of_same_runs,
    warn_of_single_precision,
)
from heed.measures.pairwise import GOLD_RANK, P_MRR, mean_rank
from heed.measures.per_topic import Inputs, Measure, PerTopic, mean, no_longer_relevant, ranks_of, still_relevant
from heed.measures.registry import (
    STANDARD,
    AnyMeasure,
    as_measures,
    check_measures,
    check_pair,
    is_of_pair,
    needs_subtopics,
    standard,
    with_companions,
)
from heed.measures.significance import fisher_lower
from heed.measures.single_run import ROBUSTNESS, ROBUSTNESS_OF, robustness
from heed.measures.summary import ON_REQUEST, AgainstQuery, AsSeen, Detail, Group, Row, Shift
from heed.progress import brief, warn
from heed.types import ABLATIONS, INSTRUCTED, Qrels, Run, Topic, subtopics_of, under

Runs = Mapping[tuple[str, str], Run]  # (system, condition) -> run


class Pair(NamedTuple):
    """Two conditions that are compared, by which measures; ``reverse`` is the third condition of WISE and SICR."""

    base: str
    new: str
    measures: tuple[str | Measure, ...]
    reverse: str = ""


CHANGED = Pair("original", "changed", ("p-MRR",))  # FollowIR and mFollowIR


class Judging(NamedTuple):
    """Judgements and measures of a collection.

    ``qrels`` by condition, where ``query`` and the ablations take those of ``original`` if they have none;
    ``measures`` of every condition; ``pairs`` that are compared; ``traps`` for NFR by qid; ``robust`` adds
    Robustness@10 over the topics of the same query and the mean rank of gold documents; ``types`` are
    the kinds of instruction that get rows of their own; ``excluded`` are documents by qid that are taken out of each
    run before it is measured (BRIGHT's ``excluded_ids``).
    """

    qrels: dict[str, Qrels]
    measures: tuple[str | Measure, ...] = STANDARD
    pairs: tuple[Pair, ...] = (CHANGED,)
    traps: Mapping[str, set[str]] = {}
    robust: bool = False
    types: tuple[str, ...] = ()
    excluded: Mapping[str, AbstractSet[str]] = {}

    def __repr__(self) -> str:
        """Return the judged conditions and the measures; all judgements would fill a notebook."""
        judged = ", ".join(f"{condition}: {len(qrels)} topics" for condition, qrels in self.qrels.items())
        return f"Judging({judged}; {', '.join(map(str, self.all_measures))})"

    def of(self, condition: str) -> Qrels:
        """Return the judgements for ``condition``; empty if there are none."""
        qrels = self.qrels.get(condition, {})
        if not qrels and condition in ("query", *ABLATIONS):
            return self.qrels.get("original", {})
        return qrels

    @property
    def all_measures(self) -> list[str | Measure]:
        """The measures of conditions and of pairs, each once."""
        return as_measures([*self.measures, *(measure for pair in self.pairs for measure in pair.measures)])

    def also(self, measures: Sequence[AnyMeasure]) -> "Judging":
        """Return the same with further measures, those of two runs for every pair.

        They are names, the user's own measures, or ``package.module:function`` for one of these. Those of
        ``ON_REQUEST`` are there already, beside p-MRR. Raises :class:`UsageError` for a name that is unknown, that
        exists already, or that the judgements do not allow.
        """
        further = as_measures(measures)
        as_measures([*self.all_measures, *further])  # raises an error for two of one name
        requested = [measure for measure in further if measure in ON_REQUEST]
        if requested and not any(P_MRR in pair.measures for pair in self.pairs):
            raise UsageError(f"measure {requested[0]}: stands beside p-MRR, which this collection is not measured by")
        of_pairs = [measure for measure in further if is_of_pair(measure) and measure not in requested]
        if of_pairs and not self.pairs:
            raise UsageError(f"measure {of_pairs[0]}: compares two runs, but this collection compares no conditions")
        reverse = any(pair.reverse for pair in self.pairs)
        check_pair(of_pairs, traps=bool(self.traps), reverse=reverse, corpus_size=True, collection=True)
        of_runs = [measure for measure in further if not is_of_pair(measure) and measure not in requested]
        for qrels in self.qrels.values() or [{}]:
            check_measures(of_runs, qrels)
        pairs = tuple(pair._replace(measures=tuple(as_measures([*pair.measures, *of_pairs]))) for pair in self.pairs)
        return self._replace(measures=tuple(as_measures([*self.measures, *of_runs])), pairs=pairs)


def evaluate(runs: Runs, judging: Judging, topics: Sequence[Topic], corpus_size: int) -> list[Detail]:
    """Return the measures of each run over the judged topics of its condition, then those of each pair.

    ``corpus_size`` is the number of documents searched, for IRS.
    """
    details: list[Detail] = []
    runs = _without(runs, judging.excluded)
    for (system, condition), run in runs.items():
        values = _of_condition(run, judging, condition, under(topics, condition))
        warn_of_no_values(
            {str(name): values[str(name)] for name in judging.measures if str(name) in values},
            f"{system}, {condition}: ",
        )
        details += details_of(system, condition, values)
    for condition in dict.fromkeys(condition for _, condition in runs):
        warn_of_same_runs({f"{system}.{name}": run for (system, name), run in runs.items() if name == condition})
    warn_of_single_precision({".".join(key): (run, judging.of(key[1])) for key, run in runs.items()})
    for pair in judging.pairs:
        for system in dict.fromkeys(system for system, _ in runs):
            values = _of_pair(system, runs, judging, pair, topics, corpus_size)
            details += details_of(system, f"{pair.base}>{pair.new}", values)
    details += list(_by_type(details, judging, topics))
    for (system, condition), run in runs.items():
        for lang, values in _by_language(run, judging, condition, under(topics, condition)):
            details += details_of(system, f"{condition} {lang}", values)
    return details


def measure_runs(runs: Mapping[str, Run], qrels: Qrels, measures: Sequence[str | Measure]) -> list[Detail]:
    """Return the measures of single runs, which are by the names of their systems, under no condition.

    Warns of judged topics that a run lacks, which count 0. Raises :class:`DataError` for a run of which no topic is
    judged, and :class:`UsageError` for a measure of two runs.
    """
    for measure in filter(is_of_pair, measures):
        raise UsageError(f"measure {measure}: compares two conditions; give the runs and the judgements of both")
    details = list[Detail]()
    for system, run in runs.items():
        lacking = sorted(qrels.keys() - run.keys())
        if len(lacking) == len(qrels):
            raise DataError(f"{system}: none of its topics ({brief([*run])}) is judged{number_hint(run, qrels)}")
        if lacking:
            warn(f"{lacking_topics(lacking, system)}{number_hint(lacking, run)}")
        values = standard(run, qrels, measures)
        warn_of_no_values(values, f"{system}: ")
        details += details_of(system, "", values)
    warn_of_foreign_ids(runs, [qrels])
    warn_of_same_runs(runs)
    warn_of_single_precision({system: (run, qrels) for system, run in runs.items()})
    return details


def _without(runs: Runs, excluded: Mapping[str, AbstractSet[str]]) -> Runs:
    """Return the runs without the excluded documents of each topic."""
    if not any(excluded.values()):
        return runs
    return {
        key: {
            qid: {docid: score for docid, score in scores.items() if docid not in excluded.get(qid, ())}
            for qid, scores in run.items()
        }
        for key, run in runs.items()
    }


def _of_condition(run: Run, judging: Judging, condition: str, topics: Sequence[Topic]) -> dict[str, PerTopic]:
    qids = {topic.qid for topic in topics}
    judged = {qid: grades for qid, grades in judging.of(condition).items() if qid in qids}
    if not judged:
        return {}
    values = standard(run, judged, judging.measures)
    if judging.robust:
        per_topic = standard(run, judged, [ROBUSTNESS_OF])[ROBUSTNESS_OF]
        values[ROBUSTNESS] = robustness(per_topic, {topic.qid: topic.query for topic in topics})
        values[GOLD_RANK] = mean_rank(run, still_relevant(judging.of("query"), judging.of("original")))
    return values


def _by_language(
    run: Run, judging: Judging, condition: str, topics: Sequence[Topic]
) -> Iterator[tuple[str, dict[str, PerTopic]]]:
    """Yield the measures of a multilingual run by the judgements of one language at a time.

    Judgements are multilingual if their subtopics are languages. The list is measured as it is, so that
    documents in other languages stand between those of the language.
    """
    judged = {topic.qid: subtopics_of(judging.of(condition).get(topic.qid, {})) for topic in topics}
    languages = sorted({subtopic for subtopics in judged.values() for subtopic in subtopics})
    if len(languages) > 1 and all(lang in LANGUAGES for lang in languages):
        measures = [measure for measure in judging.measures if not needs_subtopics(measure)]
        for lang in languages:
            qrels = {qid: subtopics[lang] for qid, subtopics in judged.items() if lang in subtopics}
            yield lang, standard(run, qrels, measures)


def _inputs(
    system: str, runs: Runs, judging: Judging, pair: Pair, topics: Sequence[Topic], corpus_size: int = 0
) -> Inputs | None:
    """Return a system's runs of a pair with their judgements; None where one of these lacks."""
    base, new = runs.get((system, pair.base)), runs.get((system, pair.new))
    if base is None or new is None or not judging.of(pair.base) or not judging.of(pair.new):
        return None
    bases = _bases(topics, pair.new)
    qrels, new_qrels = _judgements(judging, pair, bases)
    return Inputs(
        base=renamed(base, bases),
        new=new,
        qrels=qrels,
        new_qrels=new_qrels,
        query_of=bases,
        reverse=runs.get((system, pair.reverse)),
        traps=judging.traps,
        corpus_size=corpus_size,
    )


def _of_pair(
    system: str, runs: Runs, judging: Judging, pair: Pair, topics: Sequence[Topic], corpus_size: int
) -> dict[str, PerTopic]:
    inputs = _inputs(system, runs, judging, pair, topics, corpus_size)
    if inputs is None:
        return {}
    values = compare_pair(inputs, [name for measure in pair.measures for name in with_companions(measure)])
    label = f"{pair.base}>{pair.new}: "
    warn_of_judgements(inputs, label, P_MRR in pair.measures)
    shares = absent(inputs, {measure: values[measure] for measure in map(str, pair.measures) if measure in values})
    chosen: dict[str, PerTopic] = {}
    for measure in pair.measures:
        chosen |= {str(name): values[str(name)] for name in with_companions(measure) if str(name) in values}
        of_measure = shares.get(str(measure), {})
        chosen |= {f"{measure} {kind.replace('_', ' ')}": per_topic for kind, per_topic in of_measure.items()}
    warn_of_runs(inputs, chosen, f"{system}, {label}")
    missing = sorted(inputs.ruled_out.keys() - values.get(P_MRR, {}).keys()) if P_MRR in pair.measures else []
    if missing:
        count = f"{len(inputs.ruled_out) - len(missing)} of {len(inputs.ruled_out)}"
        warn(f"{system}: p-MRR is over {count} topics; not in both runs: {brief(missing)}")
    return chosen


def _bases(topics: Sequence[Topic], condition: str) -> dict[str, str]:
    """Return for each topic of ``condition`` the qid under which its query is run alone."""
    return {topic.qid: topic.base or topic.qid for topic in under(topics, condition)}


def _judgements(judging: Judging, pair: Pair, bases: Mapping[str, str]) -> tuple[Qrels, Qrels]:
    """Return the judgements of both sides of a pair, by the new side's qids."""
    return renamed(judging.of(pair.base), bases), renamed(judging.of(pair.new), {qid: qid for qid in bases})


def _by_type(details: Iterable[Detail], judging: Judging, topics: Sequence[Topic]) -> Iterator[Detail]:
    """Yield the figures of instructed topics for each kind of instruction, with the kind as the condition."""
    conditions = {f"{pair.base}>{pair.new}" for pair in judging.pairs} | {pair.new for pair in judging.pairs}
    type_of = {topic.qid: topic.type for topic in topics}
    instructed = [detail for detail in details if detail["condition"] in conditions]
    for kind in judging.types:
        for detail in instructed:
            values = {qid: value for qid, value in detail["per_topic"].items() if type_of.get(qid) == kind}
            yield from details_of(detail["system"], kind, {detail["measure"]: values})


def details_of(system: str, condition: str, by_measure: Mapping[str, PerTopic]) -> Iterator[Detail]:
    """Yield the figures of one run or pair, without measures that have no topics."""
    for measure, values in by_measure.items():
        if values:
            row = Row(system=system, condition=condition, measure=measure, value=mean(values), n=len(values))
            yield Detail(**row, per_topic=dict(sorted(values.items())))


def shifts(runs: Runs, judging: Judging, topics: Sequence[Topic]) -> list[Shift]:
    """Return the ranks, in the first pair, of every document that stays relevant or no longer is.

    The documents of the group ``compliant`` stay relevant, those of ``violating`` no longer are.
    """
    if not judging.pairs:
        return []
    pair, runs = judging.pairs[0], _without(runs, judging.excluded)
    bases = _bases(topics, pair.new)
    qrels, new_qrels = _judgements(judging, pair, bases)
    groups: dict[Group, dict[str, set[str]]] = {
        "compliant": still_relevant(qrels, new_qrels),
        "violating": no_longer_relevant(qrels, new_qrels),
    }
    judged = {qid: [docid for group in groups.values() for docid in group.get(qid, ())] for qid in qrels}
    rows = []
    for system in dict.fromkeys(system for system, _ in runs):
        base, new = renamed(runs.get((system, pair.base), {}), bases), runs.get((system, pair.new), {})
        ranked = ranks_of([base, new], judged)
        documents = [(qid, docid) for qid in ranked.qids for docid in judged[qid]]
        moved = dict(zip(documents, ranked.values.T.astype(int).tolist(), strict=True))
        rows += [
            Shift(system=system, qid=qid, docid=docid, group=group, base=moved[qid, docid][0], new=moved[qid, docid][1])
            for group, of_topics in groups.items()
            for qid in sorted(of_topics)
            for docid in sorted(of_topics[qid])
            if (qid, docid) in moved
        ]
    return rows


def values_as_seen(runs: Runs, judging: Judging, topics: Sequence[Topic], details: Sequence[Detail]) -> list[AsSeen]:
    """Return the pairwise measures of ``details`` that documents in none of a system's lists change, without these."""
    rows, runs = list[AsSeen](), _without(runs, judging.excluded)
    for pair, system in product(judging.pairs, dict.fromkeys(system for system, _ in runs)):
        condition, inputs = f"{pair.base}>{pair.new}", _inputs(system, runs, judging, pair, topics)
        of_pair = {
            each["measure"]: each["per_topic"]
            for each in details
            if (each["system"], each["condition"]) == (system, condition)
        }
        for measure, values in (as_seen(inputs) if inputs and of_pair else {}).items():
            if inputs and measure in of_pair and values != of_pair[measure]:
                count, documents = count_unseen(inputs, measure)
                rows.append(
                    AsSeen(
                        system=system,
                        condition=condition,
                        measure=measure,
                        per_topic=dict(sorted(values.items())),
                        unseen=count,
                        documents=documents,
                    )
                )
    return rows


def against_query(
    runs: Runs, judging: Judging, topics: Sequence[Topic], details: Sequence[Detail]
) -> list[AgainstQuery]:
    """Return each system's first nDCG under each instruction beside that of its run of the queries alone.

    Both are by the judgements of the instructed condition, and over its topics; ``details`` are of the same runs
    (:func:`evaluate`). Without a run of the queries alone nothing is returned of a system.
    """
    measure = next((str(name) for name in judging.measures if str(name).startswith("nDCG")), "")
    runs, rows = _without(runs, judging.excluded), list[AgainstQuery]()
    for detail in details:
        condition, with_it = detail["condition"], detail["per_topic"]
        query = runs.get((detail["system"], "query"))
        if query is None or detail["measure"] != measure or condition not in INSTRUCTED:
            continue
        qrels = {qid: judging.of(condition)[qid] for qid in with_it}
        without = standard(renamed(query, _bases(topics, condition)), qrels, [measure])[measure]
        row = AgainstQuery(
            system=detail["system"],
            condition=condition,
            measure=measure,
            query=mean(without),
            instructed=detail["value"],
            p=fisher_lower(with_it, without),
            n=len(without),
        )
        rows.append(row)
    return rows
