"""Systems by name: each family is reached from the command line, and a name of the wrong kind is told."""

import shutil
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from conftest import Heed, write_jsonl
from tiny_language_models import causal

from heed.addon_table import BROUGHT
from heed.files import write_json
from heed.models.files import with_family
from heed.models.registry.entries import Model, Registry
from heed.models.registry.families import FAMILIES, ROWS
from heed.progress import gathering

COMMAND = "pipelines.trec"


@pytest.fixture
def small(tmp_path: Path) -> list[str]:
    texts = ["a b c", "c d e", "e f g", "a g h"]
    write_jsonl(tmp_path / "docs.jsonl", [{"id": f"d{at}", "text": text} for at, text in enumerate(texts)])
    told = {"original": "about b; leave out g", "changed": "about g; leave out b"}
    write_jsonl(tmp_path / "topics.jsonl", [{"qid": "1", "lang": "eng", "query": "a", "instructions": told}])
    (tmp_path / "qrels").write_text("1 0 d0 1\n1 0 d3 1\n")
    return ["--docs", "docs.jsonl", "--topics", "topics.jsonl", "--qrels", "qrels", "--retriever", "bm25"]


def test_decompose_reads_the_retrievers_vectors_or_keeps_its_own(
    tmp_path: Path, small: list[str], tiny_encoder: Path, heed: Heed
) -> None:
    def again(embedded: int, read: bool) -> dict[str, bytes]:
        shutil.rmtree(tmp_path / "runs", ignore_errors=True)
        result = heed(COMMAND, *small, "--reranker", f"decompose:{tiny_encoder}", "--device", "cpu")
        assert result.returncode == 0, result.stderr
        lines = [line for line in result.stderr.splitlines() if line.endswith("documents embedded for reranking")]
        assert sum(int(line.split()[-5]) for line in lines) == embedded
        assert ("tiny-encoder/vectors: vectors of documents are read from here" in result.stderr) == read
        runs = (tmp_path / "runs/docs/eng").glob("decompose*.run")
        return {path.name: path.read_bytes() for path in runs}

    own = again(embedded=3, read=False)  # BM25 finds b in d0, g in d2 and d3
    assert again(embedded=0, read=False) == own
    result = heed(COMMAND, *small, "--retriever", tiny_encoder, "--reranker", "none", "--device", "cpu")
    assert result.returncode == 0, result.stderr
    assert again(embedded=0, read=True) == own


def test_a_guessed_family_is_told_and_stands_in_the_manifest(
    tmp_path: Path, small: list[str], tiny_cross_encoder: Path, tiny_encoder: Path, heed: Heed
) -> None:
    result = heed(COMMAND, *small, "--reranker", tiny_cross_encoder, "--condition", "query", "--device", "cpu")
    assert result.returncode == 0, result.stderr
    assert "family cross-encoder, guessed from config.json (BertForSequenceClassification)" in result.stderr
    manifest = yaml.safe_load((tmp_path / "runs/docs/eng/manifest.yml").read_text(encoding="utf-8"))
    [told] = [one["parameters"] for one in manifest["method"]["retrieval"] if one["name"] == tiny_cross_encoder.name]
    assert told["family"] == "cross-encoder"
    assert told["guessed_from"] == "config.json (BertForSequenceClassification)"
    for arguments, said in (
        (
            ("--reranker", "none", "--retriever", tiny_cross_encoder),
            "of family cross-encoder (guessed from config.json (BertForSequenceClassification); --family NAME "
            "overrules it), no retriever; give --reranker ",
        ),
        (("--reranker", "causle", "--family", "causle"), "family 'causle' is unknown; did you mean causal?"),
    ):
        result = heed(COMMAND, *small, *arguments, "--device", "cpu", "--quiet")
        assert result.returncode == 1 and said in result.stderr


def test_two_entries_of_one_folder_are_two_systems(
    tmp_path: Path, small: list[str], tiny_encoder: Path, heed: Heed
) -> None:
    entry = {"source": str(tiny_encoder), "pooling": "mean"}
    for name, query in (("plain", "{query} {instruction}"), ("asked", "find {query} {instruction}")):
        write_json(tmp_path / f"{name}.json", {name: {**entry, "query": query}})
    systems = ("--models", "plain.json", "--models", "asked.json", "--retriever", "plain", "--retriever", "asked")
    result = heed(COMMAND, *small, *systems, "--reranker", "none", "--device", "cpu")
    assert result.returncode == 0, result.stderr
    plain, asked = ((tmp_path / f"runs/docs/eng/{name}.changed.run").read_text() for name in ("plain", "asked"))
    assert plain.split()[4] != asked.split()[4]  # the score of the first document


def test_a_folder_that_tells_no_family_is_taken_as_it_is_used_with_a_warning(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with gathering([]) as warnings:
        model = with_family(Model(str(tmp_path)), "cross-encoder")
    assert (model.family, model.guessed_from) == ("cross-encoder", "its use")
    assert warnings == [f"{tmp_path}: its files do not tell its family; taken as cross-encoder because it is used so"]
    assert with_family(Model("x", "causal"), "cross-encoder") == Model("x", "causal")


def test_a_causal_folder_asks_for_what_its_files_cannot_tell(tmp_path: Path, small: list[str], heed: Heed) -> None:
    causal("Qwen3", tmp_path / "lm")
    result = heed(COMMAND, *small, "--reranker", "./lm", "--condition", "query", "--device", "cpu")
    assert result.returncode == 1
    assert "./lm: family causal, guessed from config.json (Qwen3ForCausalLM)" in result.stderr
    needed = "prompt and tokens missing, which a causal reranker needs; give them in a file of models"
    assert f"error: ./lm: {needed}" in result.stderr


def test_every_family_of_an_entry_that_runs_has_its_class() -> None:
    made = [row.made_by.partition(":") for row in ROWS if row.made_by]
    assert all(callable(getattr(import_module(f"heed.models.{module}"), name)) for module, _, name in made)
    assert all(f"family {row.name}" in BROUGHT for row in ROWS if row.system and not row.made_by)
    assert {model.family for model in Registry().entries.values() if model.status != "named"} <= FAMILIES.keys()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--reranker", "bm25"), "bm25: a retriever, no reranker; it searches; rerankers of"),
        (("--reranker", "none", "--retriever", "openai/gpt-4o"), "openai/gpt-4o: of family api-chat, no retriever"),
        (("--reranker", "Table-GTR"), "bring its run file"),
        (("--reranker", "jhu-clsp/FollowIR-7B@none"), "no preset 'none'"),
    ],
)
def test_a_name_of_the_wrong_kind_is_told(small: list[str], heed: Heed, options: tuple[str, ...], told: str) -> None:
    result = heed(COMMAND, *small, *options, "--quiet")
    assert result.returncode == 1 and told in result.stderr
