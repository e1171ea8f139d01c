"""Compare systems with a baseline on random runs, by Heed, SciPy and PyTerrier: ``python -m hardening.baselines``.

A case is a baseline and one to four systems over 2 to 40 topics, some of which a system lacks; a system may be the
baseline once more. Heed's differences, topics better and worse, p-values and their correction by Holm are compared with
PyTerrier's ``Experiment(baseline=…, correction="holm", test=…)``, which is given SciPy's ``permutation_test``,
``wilcoxon`` and ``ttest_rel``. Of up to 13 topics both count all permutations; of more, two draws of 10,000 may differ
by five standard deviations. A topic whose values differ by rounding alone is equal, and better or worse by
PyTerrier. Where SciPy has no p-value since no topic differs, Heed's is 1. Exit status 1 if anything
differs; ``--case N`` runs one case alone.
"""

import argparse
import gc
import logging
import random
import sys
import warnings
from collections.abc import Iterator
from math import isnan, sqrt
from typing import Any

import numpy as np

from heed.measures.baseline import against_baseline
from heed.measures.evaluate import measure_runs
from heed.measures.per_topic import difference as subtracted
from heed.measures.summary import Detail, SystemEntry
from heed.types import Qrels, Run

MEASURES = {"nDCG@20": "ndcg_cut_20", "AP": "map"}  # as PyTerrier takes them
EXACT_UP_TO = 13  # topics whose sign flips SciPy counts all, as Heed does
NEAR = 1e-9
DRAWN = 10_000


def made(seed: int, number: int) -> tuple[dict[str, Run], Qrels]:
    """Return the runs of a case by system, the baseline first, and its judgements."""
    chooser = random.Random(f"{seed} {number}")
    qids = [
        f"q{place}" for place in range(chooser.randint(*chooser.choice([(2, 9), (2, 9), (10, 13), (14, 40), (14, 40)])))
    ]
    docids = [f"d{place}" for place in range(12)]
    qrels = {qid: {docid: chooser.choice((0, 0, 1, 2)) for docid in chooser.sample(docids, 8)} for qid in qids}
    runs = {}
    for system in range(chooser.randint(2, 5)):
        skill = chooser.random() * 2
        scores = {
            qid: {docid: chooser.random() + skill * qrels[qid].get(docid, 0) for docid in chooser.sample(docids, 10)}
            for qid in qids
        }
        runs[f"s{system}"] = {qid: scores[qid] for qid in qids if chooser.random() < 0.95} or scores
    if chooser.random() < 0.1:
        runs["same"] = runs["s0"]
    return runs, qrels


def permutations(first: Any, second: Any) -> tuple[float, float]:
    """Return SciPy's permutation test of paired values, as PyTerrier takes tests: statistic and p-value."""
    from scipy.stats import permutation_test

    result = permutation_test(
        [first - second], lambda x, axis: x.mean(axis), permutation_type="samples", n_resamples=DRAWN - 1, rng=0
    )
    return result.statistic, result.pvalue


def pyterriers(runs: dict[str, Run], qrels: Qrels, test: Any) -> dict[tuple[str, str], dict[str, float]]:
    """Return PyTerrier's figures by system and measure."""
    import pandas as pd
    import pyterrier

    def frame(rows: list[tuple[str, str, float]], value: str) -> Any:
        return pd.DataFrame(rows, columns=["qid", "docno", value]).astype({"qid": object, "docno": object})

    lists = [
        frame([(q, d, s) for q, scores in run.items() for d, s in scores.items()], "score") for run in runs.values()
    ]
    found = pyterrier.Experiment(
        [pyterrier.model.add_ranks(one) for one in lists],
        pd.DataFrame({"qid": list(qrels), "query": "words"}).astype(object),
        frame([(qid, docid, grade) for qid, grades in qrels.items() for docid, grade in grades.items()], "label"),
        eval_metrics=list(MEASURES.values()),
        names=list(runs),
        baseline=0,
        correction="holm",
        test=test,
        validate="ignore",
    ).set_index("name")
    ends = {"": "value", " +": "better", " -": "worse", " p-value": "p", " p-value corrected": "p_holm"}
    return {
        (system, measure): {key: float(found.loc[system, f"{MEASURES[measure]}{end}"]) for end, key in ends.items()}
        for system in runs
        for measure in MEASURES
    }


def heeds(details: list[Detail], test: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return Heed's rows by system and measure; for Wilcoxon's test the measures are called those of a pair."""
    named = {"nDCG@20": "p-MRR", "AP": "selectivity"} if test == "wilcoxon" else {}
    called = [Detail(**{**each, "measure": named.get(each["measure"], each["measure"])}) for each in details]
    systems = [SystemEntry(system=each["system"], first_stages=None, pool=None) for each in called]
    rows = against_baseline(called, systems, "s0", test="t" if test == "t" else "").rows
    back = {new: old for old, new in named.items()}
    return {(row["system"], back.get(row["measure"], row["measure"])): dict(row) for row in rows}


def differing(runs: dict[str, Run], qrels: Qrels) -> Iterator[str]:
    """Yield what differs in a case."""
    details = measure_runs(runs, qrels, [*MEASURES])
    by_topic = {(each["system"], each["measure"]): each["per_topic"] for each in details}
    for test, peer in (("fisher", permutations), ("wilcoxon", "wilcoxon"), ("t", "t")):
        theirs, ours = pyterriers(runs, qrels, peer), heeds(details, test)
        undefined = {column for (name, column), their in theirs.items() if isnan(their["p"]) and name != "s0"}
        for (system, measure), their in theirs.items():
            row = ours[system, measure]
            if system == "s0":
                wanted = {"value": their["value"]}
            else:
                wanted = their | {"difference": their["value"] - theirs["s0", measure]["value"]}
                wanted["p"] = 1.0 if isnan(their["p"]) else their["p"]
                if measure in undefined:  # statsmodels' correction of NaN is none
                    del wanted["p_holm"]
            for key, value in wanted.items():
                slack = NEAR
                if key in ("better", "worse"):
                    topics = subtracted(by_topic[system, measure], by_topic["s0", measure])
                    sizes = map(abs, topics.values())
                    slack += sum(0 < size < NEAR for size in sizes)
                if test == "fisher" and key.startswith("p") and len(qrels) > EXACT_UP_TO:
                    slack = 5 * sqrt(2 / 4 / DRAWN) if key == "p" else 5 * len(runs) * sqrt(2 / 4 / DRAWN)
                if row[key] is None or not abs(row[key] - value) <= slack:
                    yield f"{test}, {system}, {measure}, {key}: Heed {row[key]}, the peer {value}"


def main() -> int:
    """Compare as many cases as the options say."""
    parser = argparse.ArgumentParser(prog="python -m hardening.baselines", description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="run one case alone")
    options = parser.parse_args()
    logging.getLogger("heed").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")  # SciPy's, where no topic differs
    numbers = range(options.cases) if options.case is None else [options.case]
    differ = 0
    gc.freeze()  # statsmodels collects garbage at every correction
    for number in numbers:
        for difference in differing(*made(options.seed, number)):
            differ += 1
            print(f"--case {number}: {difference}")
    print(f"{len(numbers)} cases, {differ} values differ")
    return int(differ > 0)


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
