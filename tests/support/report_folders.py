"""Results folders written without any run: rows of a summary, values by topic, and names that are attacks."""

import base64
import gzip
import html
import json
import re
from pathlib import Path
from typing import Any

HOSTILE = "<script>alert(1)</script>"
NASTY = f'{HOSTILE}"\'&\\_^~%#{{}}$x$ --> | ` href="http://evil" سامانه'


def row(system: str, condition: str, measure: str, value: float, n: int = 2) -> dict[str, Any]:
    return {"system": system, "condition": condition, "measure": measure, "value": value, "n": n}


def write_results(
    folder: Path, rows: Any, collection: str = "made", subset: str = "zho", per_topic: Any = None
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "summary.json").write_text(json.dumps({"collection": collection, "subset": subset, "rows": rows}))
    if per_topic is not None:
        (folder / "per_topic.json").write_text(json.dumps(per_topic))
    return folder


def hostile_results(folder: Path) -> Path:
    """One folder in which every text is hostile, with all plots of a folder."""
    rows = [row(NASTY, "original", "nDCG@20", 0.5), row(NASTY, f"a>{HOSTILE}", "p-MRR", -0.25)]
    details = [rows[1] | {"per_topic": {HOSTILE: -0.5, "$2$": 0.0}}]
    shifts = [
        {"system": NASTY, "qid": HOSTILE, "docid": HOSTILE, "group": group, "base": 1, "new": 7}
        for group in ("compliant", "violating")
    ]
    return write_results(folder, rows, HOSTILE, NASTY, {"rows": details, "shifts": shifts})


def three_topics(system: str, measure: str) -> tuple[dict[str, Any], dict[str, Any]]:
    one = row(system, "query>original", measure, 0.1, 3)
    return one, one | {"per_topic": {"1": 0.4, "2": -0.1, "10": 0.0}}


def charts_of(text: str) -> dict[str, Any]:
    """The charts' specifications that a page carries, by name."""
    [packed] = re.findall(r'id="charts">"([^"]+)"</script>', text)
    specs: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))["specs"]
    assert set(specs) == {html.unescape(name) for name in re.findall(r'data-plot="([^"]+)"', text)}
    return specs


def marks_of(spec: Any) -> list[dict[str, Any]]:
    """What the marks of a chart say, with the places that they lead to."""
    return [value for layer in spec["layer"] for value in layer["data"]["values"] if "says" in value]
