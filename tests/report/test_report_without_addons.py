"""The report and an evaluation where the explorer and the published figures are not installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from report_folders import row, write_results

WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class NotInstalled(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.startswith(("heed.addons.explorer", "heed.addons.published")):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())
"""


def run_without(code: str, *arguments: Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", WITHOUT + code, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_an_evaluation_writes_its_report_without_topics(tmp_path: Path) -> None:
    code = "from pathlib import Path; from explored_results import evaluated; from heed import load\n"
    run_without(f"{code}evaluated(load('neuclir-sample', lang='fas'), Path(sys.argv[1]))", tmp_path)
    folder = tmp_path / "runs/neuclir-sample/fas"
    assert {"summary.json", "per_topic.json", "topics.json", "report.html"} <= {path.name for path in folder.iterdir()}
    text = (folder / "report.html").read_text()
    assert "144 documents" in text and 'data-plot="plane"' in text and 'class="topics"' not in text
    assert "explorer-data" not in text


def test_a_report_has_all_of_its_figures_and_none_of_a_paper(tmp_path: Path) -> None:
    rows = [row("ours", "query", "nDCG@10", 0.5), row("ours", "original", "nDCG@10", 0.2)]
    runs = write_results(tmp_path / "runs", rows, "followtable", "WTR")
    code = (
        "from pathlib import Path; from heed.report.page import write_page; from heed.report.results import read_tree\n"
    )
    path = tmp_path / "report.html"
    run_without(f"{code}runs = Path(sys.argv[1]); write_page(read_tree(runs), runs, Path(sys.argv[2]))", runs, path)
    cells = re.compile(r'<td data-source="\./summary\.json#rows\[\d\]" title="[^"]*">(\d+\.\d)</td>')
    text = path.read_text()
    assert cells.findall(text) == ["50.0", "20.0"] and "Promptriever" not in text


@pytest.mark.parametrize("key", ["explorer of a report", "published figures"])
def test_what_an_addon_brings_is_named_where_it_is_not_installed(key: str) -> None:
    said = f"{key}: its add-on, heed.addons.{key.partition(' ')[0]}, is not installed"
    code = f"""
from heed.addon_table import brought, brought_if_here
from heed.errors import UsageError

assert brought_if_here({key!r}) is None
try:
    brought({key!r})
except UsageError as error:
    assert str(error) == {said!r}
"""
    run_without(code)
