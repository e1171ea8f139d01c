"""A run of two conditions under MTEB's ids, and MTEB's file of predictions."""

import json
from pathlib import Path

RUN = {"1-og": {"a": 2.0, "b": 1.0}, "1-changed": {"b": 2.0, "a": 1.0}}


def mteb_file(path: Path, **subsets: dict) -> Path:
    path.write_text(json.dumps({"mteb_model_meta": {"model_name": "m", "revision": "r"}} | subsets))
    return path
