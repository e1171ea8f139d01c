"""Compare Heed's measures with other programs' on random runs and judgements: ``python -m hardening.peers``.

A case is two runs and the judgements of each: grades from -2 to 3, topics without results or without judgements,
empty lists, ties, scores below 0, huge, or apart by less than single precision tells. The peers are trec_eval, with
``-c`` too (by pytrec_eval), the programs of ir_measures that are installed, and mteb's p-MRR. Programs that break ties
in their own way are given lists without ties; those that know no negative grades get 0 for them, and ``Judged`` no
line. A line in brackets counts what differs if they get the judgements as they are. Exit status 1 if anything else
differs; ``--case N`` prints a case, and compares it alone.
"""

import argparse
import json
import logging
import random
import sys
from collections.abc import Iterable, Iterator, Mapping
from ctypes import c_float
from dataclasses import asdict, dataclass, field, replace
from math import isnan
from typing import Any

from heed.errors import HeedError
from heed.measures import mean
from heed.measures.per_topic import Inputs, PerTopic, parse_name
from heed.measures.registry import provided, standard
from heed.measures.two_runs import compare
from heed.types import Qrels, Run, by_subtopic

BATCH = 200  # cases that a program gets at once
TOPICS = 10  # qids for each case
NEAR = 1e-9  # what rounding leaves of a difference
GRADES = [(-2, -1, 0, 1, 2, 3), (-1, 0, 1), (0, 1, 2, 3), (1, 2), (0,), (-1,)]  # one of them for each topic
SCORES = [(0.0, 0.5, 1.0, 2.0), (-1e30, -7.25, -1.0, 0.0), (3e38, 1e30, 1.0, 1e-30), (1.0, 1.0 + 1e-12, 1.0 - 1e-12)]
TREC_EVAL = {
    1: {
        **{"nDCG@5": "ndcg_cut_5", "nDCG@20": "ndcg_cut_20", "P@5": "P_5", "P@20": "P_20", "Success@1": "success_1"},
        **{"R@5": "recall_5", "Success@5": "success_5", "AP@5": "map_cut_5", "IPrec@0.0": "iprec_at_recall_0.00"},
        **{"IPrec@0.5": "iprec_at_recall_0.50", "IPrec@1.0": "iprec_at_recall_1.00", "nDCG": "ndcg", "AP": "map"},
        **{"RR": "recip_rank", "Rprec": "Rprec", "Bpref": "bpref", "infAP": "infAP", "NumRet": "num_ret"},
        **{"SetP": "set_P", "SetR": "set_recall", "SetF": "set_F", "SetAP": "set_map"},
    },
    2: {"P(rel=2)@5": "P_5", "AP(rel=2)": "map", "RR(rel=2)": "recip_rank", "Bpref(rel=2)": "bpref"},
}
PROGRAMS = {
    "accuracy": ["Accuracy", "Accuracy@5", "Accuracy(rel=2)"],
    "compat": ["Compat(p=0.8)", "Compat(p=0.95)", "Compat(p=0.8,normalize=False)"],
    "cwl_eval": [
        *("RBP(rel=1,p=0.8)", "BPM(T=1.0,max_rel=3)@10", "SDCG(max_rel=3)@10", "INST(T=1.0,max_rel=3)"),
        *("NERR8(max_rel=3)@10", "NERR9(max_rel=3)@10", "NERR10(max_rel=3)", "NERR11(max_rel=3)", "P@5"),
    ],
    "gdeval": ["ERR@5", "ERR@20", "nDCG(dcg='exp-log2')@5"],
    "judged": ["Judged@1", "Judged@5", "Judged@20", "Judged"],
    "msmarco": ["RR@5", "RR(rel=2)@5"],
    "pyndeval": ["ERR_IA@5", "nERR_IA@5", "P_IA@5", "AP_IA", "NRBP", "nNRBP", "alpha_nDCG@5", "StRecall@5"],
    "ranx": ["P@5", "R@5", "AP", "RR", "Rprec", "nDCG@5", "Success@5", "nDCG(dcg='exp-log2')"],
}

Compared = Iterator[tuple[str, str, PerTopic, PerTopic]]  # a peer, a measure, Heed's values and the peer's


@dataclass(frozen=True)
class Case:
    """Two runs with their judgements."""

    qrels: Qrels
    new_qrels: Qrels
    base: Run
    new: Run


@dataclass
class Tally:
    """How many values were compared with a peer, which measures' differ, and the first of these."""

    values: int = 0
    differ: dict[str, int] = field(default_factory=dict)
    first: str = ""

    def add(self, measure: str, ours: PerTopic, theirs: PerTopic) -> None:
        """Compare the values of a measure; a topic for which one side alone has any differs."""
        for qid in sorted(ours.keys() | theirs.keys()):
            self.values += 1
            mine, its = ours.get(qid), theirs.get(qid)
            if mine is None or its is None or not abs(mine - its) <= NEAR:
                self.differ[measure] = self.differ.get(measure, 0) + 1
                self.first = (
                    self.first or f"{measure}: --case {_case_of(qid)}, topic {qid}: Heed {mine}, the peer {its}"
                )


def main() -> int:
    """Compare as many cases as the options say with all peers."""
    parser = argparse.ArgumentParser(prog="python -m hardening.peers", description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="print one case, and compare it alone")
    options = parser.parse_args()
    logging.getLogger("heed").setLevel(logging.ERROR)
    numbers = range(options.cases) if options.case is None else range(options.case, options.case + 1)
    tallies: dict[str, Tally] = {}
    for first in numbers[::BATCH]:
        cases = {number: made(options.seed, number) for number in range(first, min(first + BATCH, numbers.stop))}
        if options.case is not None:
            print(json.dumps(asdict(cases[first]), ensure_ascii=False))
        qrels = {qid: grades for case in cases.values() for qid, grades in case.qrels.items()}
        run = {qid: scores for case in cases.values() for qid, scores in case.base.items()}
        for compared in (trec_eval(run, qrels), programs(run, qrels), mtebs_p_mrr(cases)):
            for peer, measure, ours, theirs in compared:
                tallies.setdefault(peer, Tally()).add(measure, ours, theirs)
    for peer, tally in tallies.items():
        print(f"{peer}: {tally.values} values, {sum(tally.differ.values())} differ {tally.differ or ''}")
        print(f"  {tally.first}\n" * bool(tally.first), end="")
    print(f"{len(numbers)} cases; not installed: {', '.join(PROGRAMS.keys() - tallies.keys()) or 'none'}")
    return int(any(tally.differ for peer, tally in tallies.items() if not peer.startswith("(")))


def made(seed: int, number: int) -> Case:
    """Return a case; its qids are numbers, since gdeval knows no others, and lead back to it."""
    chooser = random.Random(f"{seed} {number}")
    docids = [f"d{place}" for place in range(chooser.randint(1, 25))] + ["D", "é"]
    qids = [str(TOPICS * (number + 1) + place) for place in range(chooser.randint(1, 6))]

    def some(least: int) -> list[str]:
        return chooser.sample(docids, chooser.randint(least, len(docids)))

    def judgements() -> Qrels:
        kinds = {qid: chooser.choice(GRADES) for qid in chooser.sample(qids, chooser.randint(1, len(qids)))}
        return {qid: {docid: chooser.choice(kind) for docid in some(1)} for qid, kind in kinds.items()}

    def lists() -> Run:
        kinds = {qid: chooser.choice(SCORES) for qid in qids if chooser.random() < 0.8}
        return {qid: {docid: chooser.choice(kind) for docid in some(0)} for qid, kind in kinds.items()}

    return Case(judgements(), judgements(), lists(), lists())


def _case_of(qid: str) -> int:
    return int(qid) // TOPICS - 1


def _ours(run: Run, qrels: Qrels, measure: str) -> PerTopic:
    """Return Heed's values, none of a measure that it refuses, or whose program refuses what it is given."""
    try:
        return standard(run, qrels, [measure])[measure]
    except (HeedError, AssertionError):
        return {}


def trec_eval(run: Run, qrels: Qrels) -> Compared:
    """Compare with trec_eval each topic, and with ``-c`` the mean over all judged topics of a case."""
    import pytrec_eval

    lists = {qid: _for_floats(scores) for qid, scores in run.items() if scores}  # -c: 0 for a topic without results
    judged = {qid: grades for qid, grades in qrels.items() if max(grades.values()) >= 0}  # else it ends the process
    for level, measures in TREC_EVAL.items():
        families = {
            each
            for each in pytrec_eval.supported_measures
            if any(f"{name}_".startswith(f"{each}_") for name in measures.values())
        }
        values = pytrec_eval.RelevanceEvaluator(judged, families, level).evaluate(lists)
        for measure, name in measures.items():
            theirs = {qid: values.get(qid, {}).get(name, 0.0) for qid in qrels}
            if measure == "NumRet":
                theirs |= {qid: float(len(run.get(qid, {}))) for qid in qrels.keys() - judged.keys()}
            ours = _ours(run, qrels, measure)
            yield "trec_eval", measure, ours, theirs
            yield "trec_eval -c", measure, _means(ours), _means(theirs)


def _for_floats(scores: Mapping[str, float]) -> Mapping[str, float]:
    """Return scores that single precision keeps apart: trec_eval 10 reads doubles, pytrec_eval floats."""
    levels = sorted(set(scores.values()))
    if len({c_float(level).value for level in levels}) == len(levels):
        return scores
    return {docid: float(levels.index(score)) for docid, score in scores.items()}


def _means(values: PerTopic) -> PerTopic:
    cases: dict[str, PerTopic] = {}
    for qid, value in values.items():
        cases.setdefault(_first_qid(_case_of(qid)), {})[qid] = value
    return {qid: mean(of_case) for qid, of_case in cases.items()}


def _first_qid(number: int) -> str:
    return str(TOPICS * (number + 1))


def programs(run: Run, qrels: Qrels) -> Compared:
    """Compare with each program of ir_measures, called directly, for pyndeval with two subtopics."""
    import ir_measures

    ordered = {
        qid: sorted(scores, key=lambda docid: (scores[docid], docid)) for qid, scores in run.items() if qid in qrels
    }
    lists = {qid: {docid: float(n) for n, docid in enumerate(docids, 1)} for qid, docids in ordered.items() if docids}
    subtopics = {qid: {"1": grades, "2": dict(list(grades.items())[::2])} for qid, grades in qrels.items()}
    for provider in ir_measures.DefaultPipeline.providers:
        if provider.NAME not in PROGRAMS or not provider.is_available():
            continue
        several = subtopics if provider.NAME == "pyndeval" else {qid: {"0": grades} for qid, grades in qrels.items()}
        as_they_are = [
            ir_measures.Qrel(qid, docid, grade, subtopic)
            for qid in several
            for subtopic, grades in several[qid].items()
            for docid, grade in grades.items()
        ]
        if provider.NAME == "judged":
            read = [line for line in as_they_are if line.relevance >= 0]
        else:
            read = [line._replace(relevance=max(line.relevance, 0)) for line in as_they_are]
        for measure in PROGRAMS[provider.NAME]:
            ours = _ours(run, by_subtopic(several), measure)
            for peer, lines in ((provider.NAME, read), (f"({provider.NAME}, grades as they are)", as_they_are)):
                theirs = dict.fromkeys(qrels, 0.0) | _theirs(provider, measure, lists, lines)
                known = {qid: value for qid, value in theirs.items() if value is not None}
                yield peer, measure, ours, {qid: 0.0 if isnan(value) else value for qid, value in known.items()}  # 0/0


def _theirs(provider: Any, measure: str, lists: Run, lines: list[Any]) -> dict[str, float | None]:
    """Return the values of a program for lists without ties, None where it divides by 0."""
    asked = [provided(parse_name(measure))[1]]
    if provider.NAME == "ranx":  # it takes frames whose ids are objects, and refuses topics that the run lacks
        return {metric.query_id: metric.value for metric in provider.iter_calc(asked, *_for_ranx(lists, lines))}
    if provider.NAME != "accuracy":
        return {metric.query_id: metric.value for metric in provider.iter_calc(asked, lines, lists)}
    values: dict[str, float | None] = {}
    evaluator = provider.evaluator(asked, lines)
    for qid, scores in lists.items():
        try:
            values |= {metric.query_id: metric.value for metric in evaluator.iter_calc({qid: scores})}
        except ZeroDivisionError:  # all of the list is relevant
            values[qid] = None
    return values


def _for_ranx(lists: Run, lines: list[Any]) -> tuple[Any, Any]:
    import pandas as pd

    scores = [(qid, docid, score) for qid in lists for docid, score in lists[qid].items()]
    frames = (
        pd.DataFrame([line for line in lines if line.query_id in lists]),
        pd.DataFrame(scores, columns=["query_id", "doc_id", "score"]),
    )
    judgements, run = (frame.astype({"query_id": object, "doc_id": object}) for frame in frames)
    return judgements, run


def mtebs_p_mrr(cases: Mapping[int, Case]) -> Compared:
    """Compare the mean p-MRR of each case with mteb's, which is given the documents that each of Heed's rules takes."""
    for number, case in cases.items():
        topics = case.qrels.keys() & case.new_qrels.keys() & case.base.keys() & case.new.keys()
        grades = {  # the new ones of what was relevant; without a line -1 where the topic has any from 0 down
            (qid, docid): case.new_qrels[qid].get(docid, -1 if min(case.new_qrels[qid].values()) <= 0 else 0)
            for qid in sorted(topics)
            for docid, grade in case.qrels[qid].items()
            if grade > 0
        }
        inputs = Inputs(case.base, case.new, case.qrels, case.new_qrels, {qid: qid for qid in case.new})
        given = _by_topic(grades)
        values, released = compare(inputs, []), compare(replace(inputs, variant="released"), [])
        rules = [
            ("ruled out", values.get("p-MRR"), [0]),
            ("kept", values.get("p-MRR kept"), [1, 2, 3] if "p-MRR" in values else []),  # it stands beside the first
            ("released", released.get("p-MRR"), [-2, -1, 0]),
            ("documents given", compare(replace(inputs, changed=given), [])["p-MRR"] if given else None, range(-2, 4)),
        ]
        for rule, ours, taken in rules:
            documents = _by_topic(place for place, grade in grades.items() if grade in taken)
            yield f"mteb, {rule}", "p-MRR", _means(ours or {}), _mtebs(case, documents, number)


def _by_topic(places: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    documents: dict[str, set[str]] = {}
    for qid, docid in places:
        documents.setdefault(qid, set()).add(docid)
    return documents


def _mtebs(case: Case, documents: Mapping[str, set[str]], number: int) -> PerTopic:
    """Return mteb's value of a case; none without documents, for which it fails."""
    from mteb._evaluators.retrieval_metrics import calculate_pmrr

    base = {f"{qid}-og": scores for qid, scores in case.base.items()}
    new = {f"{qid}-changed": scores for qid, scores in case.new.items()}
    listed = {qid: sorted(docids) for qid, docids in documents.items()}
    return {_first_qid(number): calculate_pmrr(base, new, listed)} if documents else {}


if __name__ == "__main__":
    sys.exit(main())
