"""Registries, and what their entries say: fields, templates, families, and code that may run."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from heed.errors import DataError, HeedError
from heed.files import write_json
from heed.models.files import fingerprint, guess, runs_remote_code
from heed.models.registry.entries import Model, Registry
from heed.models.text import document_text, query_text, warn_unread
from heed.progress import gathering
from heed.types import fill


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(HeedError, match=r"polarty: no system, .* did you mean polarity\?"):
        Registry().resolve("polarty", ["polarity"])
    with pytest.raises(HeedError, match=r"gpt4o: no system, .* did you mean openai/gpt-4o\b"):
        Registry().resolve("gpt4o", [])


def test_a_template_that_an_instruction_never_passes_is_a_warning_told_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    deaf = Model("somebody/deaf", query="query: {query}")
    assert query_text(deaf, "q", "only a") == query_text(deaf, "q", "only b") == "query: q"
    hearing = Model("somebody/hearing", query="{query} {instruction}")
    assert query_text(hearing, "q", "only a") == "q only a"
    told = "somebody/deaf: no instruction reaches it, its query template has no {instruction}: query: {query}"
    with gathering([]) as warnings:
        for model in (deaf, hearing, deaf):
            warn_unread(model)
    assert warnings == [told]
    assert capsys.readouterr().err == f"warning: {told}\n"


def test_templates_leave_braces_in_texts_alone() -> None:
    assert fill("query: {query} {instruction}", query="{text}", instruction="{0}") == "query: {text} {0}"
    assert fill("{query} {instruction}", query="q", instruction="") == "q"


def test_code_that_one_registry_allows_is_not_allowed_with_another(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(
        json.dumps({"mine": {"source": str(tmp_path), "remote_code": True, "presets": {"dot": {"similarity": "dot"}}}})
    )
    allowing, other = Registry([tmp_path / "mine.json"], trust_remote_code=True), Registry([tmp_path / "mine.json"])
    for _ in "ab":
        assert runs_remote_code(allowing.find("mine")) and runs_remote_code(allowing.entries["mine"])
        for refused in (other.find("mine"), other.resolve("mine@dot", []), other.entries["mine"], Model("m")):
            with pytest.raises(HeedError, match="trust_remote_code"):
                runs_remote_code(refused._replace(remote_code=True))
    assert allowing.find("mine@dot").trusted and allowing.find("mine") != other.find("mine")
    assert fingerprint(allowing.find("mine")) == fingerprint(other.find("mine")._replace(trusted=True))


def test_two_registries_share_no_entries_and_no_defaults(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps({"mine": {"source": "a/b"}}))
    first, second = Registry([tmp_path / "mine.json"], {"pooling": "cls", "query": None}), Registry()
    assert first.find("mine").source == "a/b" and "mine" not in second.entries
    assert (first.find("x/y").pooling, second.find("x/y").pooling) == ("cls", None)


def test_a_local_models_fingerprint_is_that_of_its_files_wherever_they_are(tmp_path: Path) -> None:
    for folder in ("here/m", "there/other"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "config.json").write_text("{}")
        (tmp_path / folder / "base").mkdir()
    here, there = (Model(str(tmp_path / one), base=str(tmp_path / one / "base")) for one in ("here/m", "there/other"))
    assert fingerprint(here) == fingerprint(there) and str(tmp_path) not in json.dumps(fingerprint(here))
    assert fingerprint(here.limited(9)) != fingerprint(here) != fingerprint(here._replace(query="{query}"))


def test_a_document_without_a_title_has_no_gap() -> None:
    one = Model("m", document="passage:  {title} {text}")
    assert document_text(one, "", "x") == "passage:  x"
    assert document_text(one, "T", "x") == "passage:  T x"
    assert document_text(Model("m", document="{title}\n\n{text}"), "", "x") == "x"
    one = Model("m", document="Title: {title} Content: {text}", untitled="{text}")
    assert (document_text(one, "T", "x"), document_text(one, "", "x")) == ("Title: T Content: x", "x")


def test_a_query_without_instruction_has_its_own_template() -> None:
    one = Model("m", query="Q {query}{mark} {instruction}", bare="B {query}")
    assert (query_text(one, "why", ""), query_text(one, "why", "i")) == ("B why", "Q why? i")
    assert query_text(one, "why!", "i") == "Q why! i"
    assert query_text(Model("m", query="{instruction}: {query}", task="T"), "q", "") == "T: q"


def added(folder: Path, entry: dict[str, Any]) -> Registry:
    """A registry with one entry more, ``mine``."""
    (folder / "mine.json").write_text(json.dumps({"mine": entry}))
    return Registry([folder / "mine.json"])


def test_models_can_be_added_from_a_file(tmp_path: Path) -> None:
    fields = {"query": "Q: {query}", "pooling": "cls"}
    found = added(tmp_path, {"source": "/models/mine", **fields}).find("mine")
    assert found == Model("/models/mine", **fields, entry="mine")


def test_files_of_models_are_paths_or_texts_and_add_up(tmp_path: Path) -> None:
    files = []
    for name in ("a", "b"):
        write_json(tmp_path / f"{name}.json", {name: {"source": f"/models/{name}"}})
        files.append(str(tmp_path / f"{name}.json"))
    registry = Registry(files=[files[0], Path(files[1])])
    assert [registry.find(name).source for name in "ab"] == ["/models/a", "/models/b"]
    with pytest.raises(DataError, match=f"^{re.escape(files[0])}: a: is in an earlier file of models too; rename one"):
        Registry(files=[files[0], files[1], files[0]])


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("mine", "mine"),
        ("mine@short", "mine@short"),
        ("owner/other", "other"),
        ("with space", "with-space"),
        ("BAAI/bge-base-en-v1.5", "bge-base-en-v1.5"),  # shipped
        ("intfloat/e5-mistral-7b-instruct@mteb", "e5-mistral-7b-instruct@mteb"),
        ("/models/folder", "folder"),  # without an entry
    ],
)
def test_runs_are_named_after_the_entry(tmp_path: Path, name: str, runs: str) -> None:
    entry = {"source": "/models/folder", "presets": {"short": {"max_length": 8}}}
    write_json(tmp_path / "m.json", dict.fromkeys(("mine", "owner/other", "with space"), entry))
    assert Registry([tmp_path / "m.json"]).find(name).name == runs


def test_no_shipped_entry_has_another_name_than_its_model() -> None:
    assert all(Path(name).name == Path(model.source).name for name, model in Registry().entries.items())


def test_the_name_of_an_entry_decides_no_score(tmp_path: Path, tiny_encoder: Path) -> None:
    entry = {"source": str(tiny_encoder), "pooling": "cls"}
    write_json(tmp_path / "m.json", {"one": entry, "two": entry})
    one, two = (Registry([tmp_path / "m.json"]).find(name) for name in ("one", "two"))
    plain = Model(str(tiny_encoder), pooling="cls")
    assert fingerprint(one) == fingerprint(two) == fingerprint(plain)  # so runs that have the name are used again


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"poling": "cls"}, "unknown fields ['poling']; expected some of source, "),
        ({"trusted": True}, "unknown fields ['trusted']"),
        ({"pooling": "average"}, "pooling 'average', expected one of"),
        ({"layer_norm": True}, "layer_norm follows a pooling, but there is none"),
        ({"family": "bi-encode"}, "family 'bi-encode' is unknown; did you mean bi-encoder?"),
        ({"query": "{instruction}"}, "query '{instruction}': {query} is missing; expected {query}"),
        ({"query": "{query} {narrative}"}, "query '{query} {narrative}': nothing fills {narrative}; expected {query}"),
        ({"bare": "{title}"}, "bare '{title}': {query} is missing; nothing fills {title}; expected {query}"),
        ({"document": "{title}"}, "document '{title}': {text} is missing; expected {text}"),
        (
            {"prompt": "{query} {instruction}"},
            "prompt '{query} {instruction}': {document} is missing; nothing fills {instruction}; expected {query}",
        ),
    ],
)
def test_an_entry_with_a_mistake_is_refused(tmp_path: Path, entry: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=re.escape(f"mine.json: mine: {message}")):
        added(tmp_path, entry)


def test_defaults_with_a_mistake_are_refused() -> None:
    with pytest.raises(HeedError, match="^family 'causle' is unknown; did you mean causal?"):
        Registry(defaults={"family": "causle"})
    with pytest.raises(HeedError, match="somebody/encoder: query .*: {query} is missing"):
        Registry(defaults={"query": "{instruction}"}).find("somebody/encoder")


ARCHITECTURES = {
    "XLMRobertaModel": "bi-encoder",
    "T5EncoderModel": "bi-encoder",
    "MT5ForConditionalGeneration": "seq2seq",
    "GPT2LMHeadModel": "causal",
    "HF_ColBERT": "late-interaction",
}
QWEN = {"architectures": ["Qwen3ForCausalLM"]}  # as Qwen3-Embedding is saved
SAVED, MODULES, CONFIG, ADAPTER = (
    f"{name}.json" for name in ("config_sentence_transformers", "modules", "config", "adapter_config")
)
PARTS = [{"type": "sentence_transformers.base.modules.transformer.Transformer"}]
LOGITS = [*PARTS, {"type": "sentence_transformers.cross_encoder.modules.logit_score.LogitScore"}]


@pytest.mark.parametrize(
    ("files", "family", "source"),
    [
        *(({CONFIG: {"architectures": [name]}}, kind, f"{CONFIG} ({name})") for name, kind in ARCHITECTURES.items()),
        ({CONFIG: {"architectures": ["Strange"]}}, "", ""),
        ({CONFIG: {}}, "", ""),
        ({CONFIG: QWEN, MODULES: PARTS}, "bi-encoder", MODULES),
        ({CONFIG: QWEN, SAVED: {"model_type": "CrossEncoder"}}, "cross-encoder", f"{SAVED} (model_type CrossEncoder)"),
        ({SAVED: {"model_type": "ColBERT"}}, "late-interaction", f"{SAVED} (model_type ColBERT)"),
        ({MODULES: LOGITS}, "cross-encoder", f"{MODULES} (LogitScore)"),
        ({ADAPTER: {"task_type": None}}, "peft", f"{ADAPTER} (task_type None)"),
        ({ADAPTER: {"task_type": "CAUSAL_LM"}}, "causal", f"{ADAPTER} (task_type CAUSAL_LM)"),
    ],
)
def test_the_family_is_read_from_the_files(tmp_path: Path, files: dict[str, object], family: str, source: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    assert guess(Model(str(tmp_path))) == (family, source)
    assert guess(Model(str(tmp_path), pooling="mean")) == ("bi-encoder", "its entry, which has pooling")
