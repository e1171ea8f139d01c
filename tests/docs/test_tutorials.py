"""README, the first page and the tutorials are followed word by word: their commands print what the pages show."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT
from followtable_copies import raw
from mfollowir_copy import FILES, hub_copy
from pages import PAGES, README, beside, fits, follow, run, shown_steps

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)

# run as printed, below; the hub's data set, FollowTable and the model are small folders of these names
PRINTED_BESIDE = {
    "heed compare runs/neuclir-sample/eng --baseline bm25",
    "heed fetch followtable",
    "heed models ./my-cross-encoder",
    "heed neuclir --lang fas --topics jhu-clsp/mFollowIR-parquet-mteb --reranker ./my-cross-encoder",
    "heed tables --data FollowTable/data/WTR --reranker mine:Careful",
    "heed trec --retriever bm25 --reranker overlap:Overlap --rerank-depth 100",
}
# run elsewhere: by which file, or why by no test
ELSEWHERE = {
    "git clone URL heed && cd heed": "docs/installation.md: with the address of a repository, by hand",
    "make demo": "Makefile: sets up an environment, then the command that README shows",
    "make real": "Makefile: downloads 304 MB; tests/real/ has tests with what it makes",
    "make models": "Makefile: make test needs it",
    "make docs": "tests/docs/test_site.py: where mkdocs is installed",
    "source .venv/bin/activate": "Makefile: changes the reader's shell alone",
    "heed annotate pool.jsonl --export judged": "tests/browser/test_annotate_browser.py: after a person has judged",
    "heed annotate pool.jsonl --topics topics.jsonl --docs documents/neuclir-sample/eng.jsonl --grades 0,1,3": (
        "tests/commands/test_loop.py: a person judges in a browser"
    ),
    "bash docs/loop.sh zho FOLDER": "tests/commands/test_loop.py",
    "heed explore runs": "tests/addons/explorer/test_live.py: serves until it is stopped",
    "heed trec --retriever bm25 --reranker ./my-cross-encoder": (
        "tests/docs/test_tutorials.py: that on mFollowIR runs; 64 tokens hold no narrative of the sample"
    ),
    "heed models NAME": "tests/commands/test_models.py",
    "heed neuclir --lang fas --topics jhu-clsp/mFollowIR-cross-lingual-parquet-mteb --query-lang eng "
    "--reranker mine:Careful": "tests/datasets/test_mfollowir.py: this data set is the same with other queries",
}
PERSIAN = {"zho": "fas", "内容": "محتوا", "文本": "متن", "标题": "عنوان", "不要": " نه ", "要": "خواستن "}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Stands for the repository's folder, on a machine where one data set of each kind was fetched, in small."""
    folder = tmp_path / "place"
    text = json.dumps(FILES, ensure_ascii=False)
    for chinese, persian in PERSIAN.items():
        text = text.replace(chinese, persian)
    hub_copy(folder / "jhu-clsp" / "mFollowIR-parquet-mteb", "jsonl", **json.loads(text))
    raw(folder / "FollowTable" / "data" / "WTR")
    return folder


@each_page
def test_the_commands_of_a_page_run_and_print_what_it_shows(
    page: Path, folder: Path, sample_runs: Callable[[str], Path], request: pytest.FixtureRequest
) -> None:
    others = PRINTED_BESIDE.intersection(beside(page))
    if page == README:  # the demo's results, used again
        shutil.copytree(sample_runs("zho").parents[2], folder, dirs_exist_ok=True)
    if any("./my-cross-encoder" in command for command in others):
        (folder / "my-cross-encoder").symlink_to(request.getfixturevalue("tiny_cross_encoder"))
    for step, printed in follow(page, folder):
        assert fits(step.shown, printed), f"{step.command}\nprinted:\n{printed}\nshown:\n" + "\n".join(step.shown)
    for command in others:
        run(command, folder)


def test_the_demo_of_the_makefile_is_what_the_readme_shows() -> None:
    recipe = re.search(r"^demo:.*\n\t(.*)\n\n", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe and recipe[1].removeprefix("$(BIN)/python -m pipelines.") == shown_steps(README)[0].command[5:]


@each_page
def test_every_command_of_a_page_is_known_here(page: Path) -> None:
    assert set(beside(page)) - PRINTED_BESIDE <= ELSEWHERE.keys()


def test_every_command_that_is_known_here_is_on_a_page() -> None:
    assert PRINTED_BESIDE | ELSEWHERE.keys() == {command for page in PAGES for command in beside(page)}
    for place in ELSEWHERE.values():
        assert (ROOT / place.partition(":")[0]).is_file(), place
