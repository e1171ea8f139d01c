"""Write ``providers.json``: what ir_measures' own tests compute with each of its programs, and assert.

Needs its source distribution (``pip download --no-deps --no-binary :all: ir-measures==0.4.3``), unpacked, with
``cwl.qrels`` and ``cwl.run`` of its repository in ``tests/``, and all programs:

python -m venv V && V/bin/pip install ir-measures[cwl_eval,pyndeval,ranx]==0.4.3
V/bin/python -P tests/data/golden/providers.py ir_measures-0.4.3/tests
"""

import json
import sys
import unittest
from pathlib import Path
from typing import Any

import ir_measures
import pandas as pd
from ir_measures.providers import Provider

PROGRAMS = ("accuracy", "cwl_eval", "gdeval", "judged", "pyndeval", "ranx")
pd.set_option("future.infer_string", False)
asked: dict[tuple[str, str, str, str], dict[str, float]] = {}  # program, measure, qrels, run -> qid -> value
original = Provider.iter_calc


def recorded(self: Any, measures: list[Any], qrels: list[Any], run: list[Any]) -> Any:
    """Return what the program computes, and keep it."""
    values = list(original(self, measures, qrels, run))
    if len(measures) == 1 and self.NAME in PROGRAMS:
        judged = "\n".join(f"{each.query_id} {each.iteration} {each.doc_id} {each.relevance}" for each in qrels)
        listed = "\n".join(f"{each.query_id} {each.doc_id} {each.score}" for each in run)
        by_qid = {each.query_id: float(each.value) for each in values}
        asked[self.NAME, str(measures[0]), judged, listed] = by_qid
    return iter(values)


def main(folder: Path) -> None:
    """Run the tests, which assert the values that the programs' authors expect, and write the values."""
    Provider.iter_calc = recorded
    suite = unittest.TestSuite(unittest.defaultTestLoader.discover(str(folder), f"test_{name}.py") for name in PROGRAMS)
    if not unittest.TextTestRunner().run(suite).wasSuccessful():
        sys.exit("a test of ir_measures fails")
    inputs = list(dict.fromkeys((qrels, run) for _, _, qrels, run in asked))
    cases = [[name, measure, inputs.index((q, r)), values] for (name, measure, q, r), values in asked.items()]
    lines = ",\n".join(json.dumps(case) for case in cases)
    head = json.dumps({"program": f"ir-measures {ir_measures.__version__}", "inputs": inputs})[:-1]
    Path(__file__).with_suffix(".json").write_text(f'{head}, "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main(Path(sys.argv[1]))
