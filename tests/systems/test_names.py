"""``NAME=SYSTEM`` for every kind of system, and what names systems have without it."""

import shutil
from pathlib import Path

import pytest
from conftest import Heed

import heed as library
from heed import Experiment, UsageError, load
from heed.compute import Compute
from heed.models.registry.entries import Model, Registry
from heed.reranking.maxp import Cut
from heed.systems.make import MAKERS, Place, forms, make, refuse_twins, split_name
from heed.types import Encoder, Reranker, Retriever, System

OVER = """
class Over:
    name = "over"

    def score(self, query, documents):
        return [len(document.text) for document in documents]
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    """An experiment over the English sample beside a class and a folder with "=" in its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("over.py").write_text(OVER)
    Path("models/a=b").mkdir(parents=True)
    return Experiment(load("neuclir-sample", lang="eng"), device="cpu", conditions=["query"])


@pytest.mark.parametrize(
    ("text", "name", "system"),
    [
        ("bm25", "", "bm25"),
        ("b=bm25", "b", "bm25"),
        ("bm25=bm25", "bm25", "bm25"),
        ("over10=over:Over", "over10", "over:Over"),
        ("mini=sentence-transformers/all-MiniLM-L6-v2", "mini", "sentence-transformers/all-MiniLM-L6-v2"),
        ("fast=command:./score --k=3", "fast", "command:./score --k=3"),
        ("command:score --k=3", "", "command:score --k=3"),
        ("both=polarity+over:Over", "both", "polarity+over:Over"),
        ("polarity+fast=command:./score", "", "polarity+fast=command:./score"),
        ("models/a=b", "", "models/a=b"),  # a folder
        ("ab=models/a=b", "ab", "models/a=b"),
        ("x=", "", "x="),
    ],
)
@pytest.mark.usefixtures("small")
def test_a_name_stands_before_its_system(text: str, name: str, system: str) -> None:
    assert split_name(text) == (name, system)


@pytest.mark.parametrize(
    "text",
    ["bm25=polarity", "rank_bm25=polarity", "models/no=b", "a b=bm25", "=bm25", "documents=lsa", f"{'a' * 101}=lsa"],
)
@pytest.mark.usefixtures("small")
def test_a_name_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(
        UsageError, match="no file or folder, and its name is '.*'; in NAME=SYSTEM a name is of letters"
    ):
        split_name(text)


def test_every_kind_of_system_can_be_named(small: Experiment, tiny_encoder: Path, tiny_cross_encoder: Path) -> None:
    searching = {"b": "bm25", "l": "lsa", "e5": str(tiny_encoder)}
    rescoring = {"pol": "polarity", "over10": "over:Over", "cross": str(tiny_cross_encoder)}
    rescoring |= {"both": "polarity+over:Over", "parts": f"decompose:{tiny_encoder}"}
    with small as experiment:
        named = [experiment.retrieve(f"{name}={system}") for name, system in searching.items()]
        assert all(runs == experiment.retrieve(system) for runs, system in zip(named, searching.values(), strict=True))
        pool = experiment.pool(named, depth=5)
        for name, system in rescoring.items():
            named.append(experiment.rerank(f"{name}={system}", pool))
            assert named[-1] == experiment.rerank(system, pool)
        assert experiment.rerank("pol=polarity", pool, maxp=Cut(50, 20)).name == "pol+maxp"
        results = experiment.evaluate(named)
    assert {row["system"] for row in results.rows} >= {*searching, *rescoring}
    for name in (*searching, *rescoring):
        path = small.folder / f"{name}.query.run"
        assert path.read_text().split()[5] == f"{name}-query"  # its tag


def test_two_names_of_a_model_share_its_vectors(small: Experiment, tiny_encoder: Path) -> None:
    def written() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in Path("indexes").rglob("*.npy")}

    with small as experiment:
        pool = {"01": list(experiment.documents.docids())[:5]}
        first = experiment.rerank(f"r1={tiny_encoder}", pool), experiment.retrieve(f"a={tiny_encoder}")
        before = written()
        again = experiment.rerank(f"r2={tiny_encoder}", pool), experiment.retrieve(f"b={tiny_encoder}")
        experiment.rerank(f"parts=decompose:{tiny_encoder}", pool)
    assert again == first and before and written() == before


def test_two_models_of_folders_of_one_name_keep_their_vectors(small: Experiment, tiny_encoder: Path) -> None:
    for name in ("old", "new"):
        shutil.copytree(tiny_encoder, f"{name}/e5")
    Path("new/e5/README.md").write_text("of other files")
    with small as experiment:
        experiment.retrieve("a=old/e5")
        experiment.retrieve("b=new/e5")
    assert len(list(Path("indexes").rglob("vectors"))) == 2


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("runs/a/model", "a"),
        ("runs/a/final", "a"),
        ("runs/a/best", "a"),
        ("runs/a/checkpoint-500", "a-checkpoint-500"),
        ("runs/a/model/checkpoint-500", "a-checkpoint-500"),
        ("runs/a/models", "models"),
        ("model", "model"),
        ("../model", "model"),
    ],
)
def test_a_folder_that_trainers_call_model_has_its_parents_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, name: str
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path(folder).mkdir(parents=True)
    assert Registry().find(folder).name == name
    assert Model(folder, entry="mine/model").name == "model" == Model("owner/model").name


def test_two_systems_of_one_name_are_an_error_that_shows_the_form() -> None:
    with pytest.raises(
        UsageError,
        match=r"^system a: named twice \(a/model, old/a/model\); name one, as in a-2=old/a/model$",
    ):
        refuse_twins(["a", "a"], ["a/model", "old/a/model"])
    with pytest.raises(UsageError, match=r"\(x=bm25, x=lsa\); name one, as in x-2=lsa$"):
        refuse_twins(["x", "y", "x"], ["x=bm25", "y=bm25", "x=lsa"])
    with pytest.raises(
        UsageError, match="^system a: named twice; give one of the objects another name, in its attribute name$"
    ):
        refuse_twins(["a", "a"])
    refuse_twins(["a", "b"])


def test_a_command_says_how_to_name_one_of_two(small: Experiment, heed: Heed) -> None:
    systems = ("--retriever", "bm25", "--reranker", "over:Over", "--reranker", "over=over:Over")
    result = heed("pipelines.trec", *systems)
    assert result.returncode == 1
    form = "system over: named twice (over:Over, over=over:Over); name one, as in over-2=over:Over"
    assert form in result.stderr and not list(small.folder.glob("*.run"))


def test_a_model_alone_has_a_name(small: Experiment) -> None:
    assert library.reranker("over10=over:Over").name == "over10"


@pytest.mark.parametrize("systems", ["bm25", ["bm25"]])
def test_a_name_is_no_run_to_be_measured(small: Experiment, systems: object) -> None:
    with pytest.raises(UsageError, match="^evaluate: found 'bm25', expected runs, as retrieve and rerank return them"):
        small.evaluate(systems)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="^candidates: found 'bm25', expected runs, as retrieve and rerank return"):
        small.rerank("polarity", systems)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="^collection: found .*bm25.*, expected one, as heed.load returns it"):
        Experiment(systems)  # type: ignore[arg-type]


def test_a_name_without_the_role_says_which_it_has(small: Experiment, tiny_cross_encoder: Path) -> None:
    def problem(name: str, role: type[System]) -> str:
        with pytest.raises(UsageError) as raised:
            make(name, Place(Registry(), Compute("cpu")), role)
        return str(raised.value)

    assert problem("bm25", Reranker) == (
        "bm25: a retriever, no reranker; it searches; rerankers of Heed's own are polarity, rank_bm25"
    )
    assert problem("x=polarity", Retriever) == "polarity: a reranker, no retriever; give reranker=polarity"
    assert problem("command:cat", Encoder) == "command:cat: a reranker, no bi-encoder; give reranker=command:cat"
    of_model = "of family cross-encoder (guessed from config.json"
    assert problem(str(tiny_cross_encoder), Retriever).startswith(f"{tiny_cross_encoder}: {of_model}")
    assert problem(str(tiny_cross_encoder), Retriever).endswith(f"no retriever; give reranker={tiny_cross_encoder}")
    assert (
        problem("over:Over", Retriever)
        == "over:Over: has no encode_documents and encode_queries; it scores, so use it as a reranker"
    )


def test_help_names_every_maker() -> None:
    assert len({**forms(Retriever), **forms(Reranker)}) == len(MAKERS) + 1  # NAME=SYSTEM too
    assert "command:PROGRAM" in forms(Reranker) and "command:PROGRAM" not in forms(Retriever)
