"""The notebook of the first hour runs, and shows what is stored in it.

``PYTHONPATH=.:tests:tests/support python tests/docs/test_first_hour.py`` writes what its cells show now into the
notebook.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from conftest import ROOT
from notebooks import executed, read_notebook, write_notebook

NOTEBOOK = ROOT / "docs" / "tutorials" / "first-hour.ipynb"
LARGEST = 150_000  # bytes


def test_the_notebook_shows_what_its_cells_show(tmp_path: Path) -> None:
    stored = read_notebook(NOTEBOOK)
    now = executed(stored, tmp_path)
    for before, after in zip(stored["cells"], now["cells"], strict=True):
        assert after == before, "".join(before["source"])
    assert (tmp_path / "runs/neuclir-sample/eng/report.html").is_file()
    assert NOTEBOOK.stat().st_size < LARGEST


def test_the_notebook_is_one_of_jupyter_s_form_4_5() -> None:
    """https://nbformat.readthedocs.io/en/latest/format_description.html: ids of cells are unique and plain."""
    notebook = read_notebook(NOTEBOOK)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[a-zA-Z0-9-_]{1,64}", each) for each in ids)
    assert str(ROOT) not in NOTEBOOK.read_text(encoding="utf-8")


@pytest.mark.unit
def test_links_of_the_notebook_lead_somewhere() -> None:
    texts = ["".join(cell["source"]) for cell in read_notebook(NOTEBOOK)["cells"] if cell["cell_type"] == "markdown"]
    links = re.findall(r"\]\(([^)#]+)", "\n".join(texts))
    assert links and [link for link in links if not (NOTEBOOK.parent / link).exists()] == []


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        write_notebook(NOTEBOOK, executed(read_notebook(NOTEBOOK), Path(folder)))
