"""Measures, run files and fusion compared with mteb, ir_measures and ranx."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.timing import Measured, Row, Settings, difference, in_turn
from heed.formats.trec_files import read_run, write_run
from heed.measures import mean, p_mrr, standard
from heed.ranking import pooled as pool
from heed.types import Qrels, Run

TOPICS, DEPTH, JUDGED, SYSTEMS = 50, 1000, 300, 12
NAMES = ("nDCG@20", "AP", "R@1000")
Sides = tuple[Callable[[], object], Callable[[], object], str]


def measure(settings: Settings) -> Measured:
    """Make runs and judgements, time every row."""
    repeat = settings.repetitions(7)
    with tempfile.TemporaryDirectory() as folder:
        work = Work(Path(folder))
        rows = [_row(step, peer, sides(work), repeat) for (step, peer), sides in ROWS.items()]
    about = f"Random runs: {TOPICS} topics, {DEPTH} documents a topic, {JUDGED} of them judged. Repetitions: {repeat}."
    return Measured(about, rows)


class Work:
    """Runs of several systems, of the first one under two conditions, and judgements."""

    def __init__(self, folder: Path) -> None:
        """Make them; the first run is also a file."""
        chooser = random.Random(0)
        names = [f"d{number:05}" for number in range(3 * DEPTH)]

        def run() -> Run:
            return {
                str(qid): {docid: chooser.random() for docid in chooser.sample(names, DEPTH)} for qid in range(TOPICS)
            }

        self.runs = [run() for _ in range(SYSTEMS)]
        self.qrels: Qrels = {
            qid: {docid: chooser.choice((0, 0, 1, 3)) for docid in chooser.sample(names, JUDGED)}
            for qid in self.runs[0]
        }
        self.changed = {qid: chooser.sample(sorted(scores), 8) for qid, scores in self.runs[0].items()}
        self.file = folder / "system.run"
        write_run(self.file, self.runs[0], "system")


def _p_mrr(work: Work) -> Sides:
    from mteb._evaluators.retrieval_metrics import calculate_pmrr

    base, new = work.runs[:2]
    og = {f"{qid}-og": scores for qid, scores in base.items()}
    later = {f"{qid}-changed": scores for qid, scores in new.items()}
    ours, theirs = mean(p_mrr(base, new, work.changed)), calculate_pmrr(og, later, work.changed)
    return (
        lambda: p_mrr(base, new, work.changed),
        lambda: calculate_pmrr(og, later, work.changed),
        difference([ours], [theirs]),
    )


def _ir_measures(work: Work) -> Sides:
    import ir_measures

    measures, run = [ir_measures.nDCG @ 20, ir_measures.AP, ir_measures.R @ 1000], work.runs[0]
    theirs = {str(name): value for name, value in ir_measures.calc_aggregate(measures, work.qrels, run).items()}
    return (
        lambda: standard(run, work.qrels, NAMES),
        lambda: list(ir_measures.iter_calc(measures, work.qrels, run)),
        difference(_means(work), [theirs[name] for name in NAMES]),
    )


def _ranx(work: Work) -> Sides:
    import ranx

    run, grades = work.runs[0], {qid: dict(judged) for qid, judged in work.qrels.items()}
    names = ["ndcg@20", "map", "recall@1000"]
    theirs = ranx.evaluate(ranx.Qrels(grades), ranx.Run(run), names)  # compiles, once
    return (
        lambda: standard(run, work.qrels, NAMES),
        lambda: ranx.evaluate(ranx.Qrels(grades), ranx.Run(run), names),
        difference(_means(work), [theirs[name] for name in names]),
    )


def _reading(work: Work) -> Sides:
    import ir_measures

    def theirs() -> Run:
        found: Run = {}
        for one in ir_measures.read_trec_run(str(work.file)):
            found.setdefault(one.query_id, {})[one.doc_id] = one.score
        return found

    assert read_run(work.file) == theirs()
    return lambda: read_run(work.file), theirs, "same scores"


def _fusion(work: Work) -> Sides:
    import ranx

    def theirs() -> object:
        return ranx.fuse([ranx.Run(run) for run in work.runs], method="rrf", params={"k": 60})

    def ours() -> dict[str, list[str]]:
        return pool(work.runs, DEPTH, SYSTEMS * DEPTH)

    found = theirs().to_dict()  # type: ignore[attr-defined]
    assert all(set(found[qid]) == set(docids) for qid, docids in ours().items())
    return ours, theirs, "same documents"


ROWS: dict[tuple[str, str], Callable[[Work], Sides]] = {
    ("p-MRR", "mteb"): _p_mrr,
    (", ".join(NAMES), "ir_measures"): _ir_measures,
    (", ".join(NAMES), "ranx"): _ranx,
    ("a run file read", "ir_measures"): _reading,
    (f"reciprocal rank fusion of {SYSTEMS} runs", "ranx"): _fusion,
}


def _means(work: Work) -> list[float]:
    found = standard(work.runs[0], work.qrels, NAMES)
    return [mean(found[name]) for name in NAMES]


def _row(step: str, peer: str, sides: Sides, repeat: int) -> Row:
    ours, theirs, compared = sides
    return Row(step, peer, *in_turn(ours, theirs, repeat), None, compared)
