"""The first and the judged documents of a run's lists, as pages show them."""

from pathlib import Path

import pytest

from heed import files
from heed.addons.explorer.run_lists import read_list, read_lists
from heed.errors import DataError
from heed.formats.trec_files import write_run


def test_the_first_and_the_judged_documents_of_a_list(tmp_path: Path) -> None:
    path = tmp_path / "a.original.run"
    run = {"1": {"d": 0.5, "b": 2.0, "c": 1.0, "a": 3.0}, "10": {"b": 1.0}}
    write_run(path, run, "a")
    lists = read_lists(path, 2, {"1": {"d", "zzz"}})
    assert lists["1"] == (4, ["a", "b", "d"], [1, 2, 4], [3.0, 2.0, 0.5])
    assert lists["10"] == (1, ["b"], [1], [1.0])
    assert read_list(path, "10", 2, set()) == lists["10"] and read_list(path, "0", 2, set()) is None
    path.write_text("1 Q0 a 1 3.0\n")
    with pytest.raises(DataError, match="a.original.run: lines without 6 columns; run the collection again"):
        read_lists(path, 2, {})


@pytest.mark.parametrize("piece", [1, 7, 40, 1 << 20])
def test_a_run_larger_than_a_file_that_is_read_whole_is_read_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(files, "LARGEST", 20)
    monkeypatch.setattr(files, "PIECE", piece)
    path = tmp_path / "a.original.run"
    write_run(path, {"1": {"a": 3.0, "b": 2.0}, "10": {"b": 1.0, "c": 0.5}, "2": {"a": 1.0}}, "a")
    assert {qid: found.docids for qid, found in read_lists(path, 1, {"10": {"c"}}).items()} == {
        "1": ["a"],
        "10": ["b", "c"],
        "2": ["a"],
    }
    assert read_list(path, "10", 1, set()) == (2, ["b"], [1], [1.0])
