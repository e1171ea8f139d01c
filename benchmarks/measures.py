"""Time Heed's measures beside MTEB's: ``python -m benchmarks.measures``."""

import random
import statistics
import time
from collections.abc import Callable

from pipelines.measures import irs, mean, nfr, p_mrr, sicr, standard, wise

Run = dict[str, dict[str, float]]
REPEAT = 5


def main() -> None:
    """p-MRR beside mteb's function, alternating; then all measures of 100 systems."""
    from mteb._evaluators.retrieval_metrics import calculate_pmrr

    chooser = random.Random(0)  # noqa: S311 (an input, no secret)
    base, new = (_run(chooser, topics=43) for _ in range(2))
    changed = {qid: chooser.sample(sorted(scores), 8) for qid, scores in base.items()}
    og = {f"{qid}-og": scores for qid, scores in base.items()}
    later = {f"{qid}-changed": scores for qid, scores in new.items()}
    ratios = []
    for _ in range(REPEAT):
        ours, our_value = _timed(lambda: mean(p_mrr(base, new, changed)))
        theirs, their_value = _timed(lambda: calculate_pmrr(og, later, changed))
        assert abs(our_value - their_value) < 1e-12
        ratios.append(theirs / ours)
    print(f"p-MRR, 43 topics of 1000 documents, 8 judged: {statistics.median(ratios):.0f} times mteb's speed", end="")
    print(f" ({min(ratios):.0f}-{max(ratios):.0f}, {REPEAT} repetitions; Heed {1000 * ours:.1f} ms)")
    print(f"all measures, 100 systems of 200 topics of 1000 documents: {_all_measures(chooser):.1f} s")


def _all_measures(chooser: random.Random) -> float:
    """Seconds for every measure of 100 systems (making their runs is not counted)."""
    total = 0.0
    for _ in range(100):
        runs = tuple(_run(chooser, topics=200) for _ in range(3))
        wanted = {qid: chooser.sample(sorted(scores), 4) for qid, scores in runs[0].items()}
        unwanted = {qid: chooser.sample(sorted(scores), 4) for qid, scores in runs[0].items()}
        qrels = {qid: dict.fromkeys(docids, 1) for qid, docids in wanted.items()}
        judged = dict.fromkeys(wanted, 8)
        steps: list[Callable[[], object]] = [
            lambda: p_mrr(runs[0], runs[1], unwanted),  # noqa: B023 (called at once)
            lambda: nfr(runs[0], runs[1], unwanted),  # noqa: B023
            lambda: irs(runs[0], runs[1], wanted, unwanted, 2000),  # noqa: B023
            lambda: wise(runs, wanted, judged),  # noqa: B023
            lambda: sicr(runs, wanted),  # noqa: B023
            lambda: standard(runs[1], qrels),  # noqa: B023
        ]
        total += sum(_timed(step)[0] for step in steps)
    return total


def _run(chooser: random.Random, topics: int) -> Run:
    return {str(qid): {f"d{number}": chooser.random() for number in range(1000)} for qid in range(topics)}


def _timed(work: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value


if __name__ == "__main__":
    main()
