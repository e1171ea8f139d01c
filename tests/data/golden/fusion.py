"""Write ``fusion.json``: fused runs of ranx 0.3.21 and pyserini 1.6.0, of random runs without equal scores.

python -m venv V && V/bin/pip install ranx==0.3.21 && V/bin/pip install --no-deps pyserini==1.6.0
V/bin/python tests/data/golden/fusion.py
"""

import json
import random
import tempfile
from pathlib import Path

import ranx
from pyserini.fusion import normalize, reciprocal_rank_fusion
from pyserini.trectools import TrecRun

DEPTH = 8  # of the lists, and of pyserini's fused ones


def run_of(generator: random.Random, scale: float) -> dict[str, dict[str, float]]:
    """Return a run of two topics: twelve documents of twenty each, no two scores equal."""
    return {
        qid: {docid: scale * generator.uniform(-3, 9) for docid in generator.sample([f"d{i}" for i in range(20)], 12)}
        for qid in ("1", "2")
    }


def of_pyserini(runs: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, dict[str, float]]]:
    """Return pyserini's fused runs by method: of whole lists, and of rrf to ``DEPTH`` too."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / str(number) for number in range(len(runs))]
        for path, run in zip(paths, runs, strict=True):
            ordered = {qid: sorted(scores.items(), key=lambda item: -item[1]) for qid, scores in run.items()}
            lines = [
                f"{qid} Q0 {docid} {rank} {score!r} t"
                for qid, listed in ordered.items()
                for rank, (docid, score) in enumerate(listed, 1)
            ]
            path.write_text("\n".join(lines) + "\n")
        read = [TrecRun(str(path)) for path in paths]
        fused = {
            "rrf": reciprocal_rank_fusion(read, rrf_k=60),
            "rrf to depth": reciprocal_rank_fusion(read, rrf_k=60, depth=DEPTH, k=DEPTH),
            "sum": normalize(read),
        }
    return {method: _scores(run) for method, run in fused.items()}


def _scores(run: TrecRun) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for qid, docid, score in run.run_data[["topic", "docid", "score"]].itertuples(index=False):
        found.setdefault(str(qid), {})[str(docid)] = float(score)
    return found


def of_ranx(runs: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, dict[str, float]]]:
    """Return ranx's fused runs by method."""
    fused = {
        "rrf": ranx.fuse([ranx.Run(run) for run in runs], method="rrf", params={"k": 60}),
        "sum": ranx.fuse([ranx.Run(run) for run in runs], norm="min-max", method="sum"),
    }
    return {method: run.to_dict() for method, run in fused.items()}


if __name__ == "__main__":
    generator = random.Random(7)
    cases = []
    for count in (2, 3):
        runs = [run_of(generator, 10.0**number) for number in range(count)]
        cases.append({"runs": runs, "ranx": of_ranx(runs), "pyserini": of_pyserini(runs)})
    record = {
        "program": "ranx 0.3.21, pyserini 1.6.0",
        "command": "python tests/data/golden/fusion.py",
        "depth": DEPTH,
        "cases": cases,
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(record, separators=(",", ":")) + "\n")
