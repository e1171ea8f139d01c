"""The registry and the command that shows it.

``tests/data/registry_texts.txt`` pins what every entry and preset makes of an example. After a change of
``heed/models/registry/registry.json`` write it anew with ``python tests/commands/test_models.py``, and read the
difference against the sources of the facts before it is committed.
"""

import json
import re
import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from conftest import ROOT, Heed

from heed.addons.published.figures import called, in_tables
from heed.errors import HeedError
from heed.models import listing as catalogue
from heed.models.listing import (
    EXAMPLE,
    EXAMPLE_DOCUMENT,
    EXAMPLE_QUERY,
    find_entry,
    inputs,
    list_models,
    missing,
    visible,
)
from heed.models.registry.entries import Model, Registry
from heed.models.registry.families import FAMILIES
from heed.models.rerankers.block import block_text
from heed.models.rerankers.listwise import PROMPTS
from heed.models.text import document_text, prompt_text, query_text
from heed.types import PAPERS

GOLDEN = ROOT / "tests" / "data" / "registry_texts.txt"
COMMAND = "pipelines.models"
SHIPPED = Registry()
MISTRAL = "mistralai/Mistral-7B-Instruct-v0.2"
PINNED = ("query", "original")  # the conditions of the golden file

# what the authors' code makes of the example, character for character; Q, N, T and D are its parts
Q, N = EXAMPLE_QUERY, EXAMPLE["original"]
T, D = EXAMPLE_DOCUMENT.title, EXAMPLE_DOCUMENT.text
GENERIC = "Retrieve text based on user query."  # of mteb's AbsTaskRetrieval, where a task has no prompt
AUTHORS = [  # entry, document, query with instruction, query alone; where it is from
    # texttron/tevatron, examples/repllama/data.py: f"query: {q}", f"passage: {title} {text}"
    ("castorini/repllama-v1-7b-lora-passage", f"passage: {T} {D}", f"query: {Q} {N}", f"query: {Q}"),
    # orionw/FollowIR at 9ec7391 (March 2024), evaluate_sentence_transformer.py
    (
        "orionweller/tart-dual-contriever-msmarco@followir",
        f"{T} {D}",
        f"{Q} [SEP] {N}",
        f"{Q} [SEP] Retrieve news paper paragraph to answer this question",
    ),
    # EIT-NLP/InfoSearch, run: the class has no encode_corpus, so DRESModel takes its place
    ("orionweller/tart-dual-contriever-msmarco@infosearch", f"{T} {D}", f"{Q} {N}", Q),
    # EIT-NLP/InfoSearch d0eae63, evaluation/models/e5/evaluate_e5.py: prefix_type query_or_passage, the default
    ("Alibaba-NLP/gte-Qwen2-7B-instruct@infosearch", f"passage: {T} {D}", f"query: {Q} {N}", f"query: {Q}"),
    ("nvidia/NV-Embed-v2@infosearch", f"passage: {T} {D}", f"query: {Q} {N}", f"query: {Q}"),
    ("intfloat/e5-large-v2@infosearch", f"passage: {T} {D}", f"query: {Q} {N}", f"query: {Q}"),
    # the same, evaluate_any.py's last branch: base_sentence_transformer
    ("Salesforce/SFR-Embedding-2_R@infosearch", f"{T} {D}", f"{Q} {N}", Q),
    # deu05232/FollowTable, eval/src/rerankers.py: f"{q}? {i}", the text without a title
    *((f"{name}@followtable", D, f"{Q}? {N}", Q) for name in ("jhu-clsp/FollowIR-7B", MISTRAL)),
    # mteb 1.21: e5_instruct.py, salesforce_models.py and gritlm_models.py, with the generic prompt on both sides
    *(
        (
            f"{name}@mfollowir",
            f"Instruct: {GENERIC}\nQuery: {T} {D}",
            f"Instruct: {GENERIC}\nQuery: {Q} {N}",
            f"Instruct: {GENERIC}\nQuery: {Q}",
        )
        for name in ("intfloat/e5-mistral-7b-instruct", "Salesforce/SFR-Embedding-2_R")
    ),
    (
        "GritLM/GritLM-7B@mfollowir",
        f"<|user|>\n{GENERIC}\n<|embed|>\n{T} {D}",
        f"<|user|>\n{GENERIC}\n<|embed|>\n{Q} {N}",
        f"<|user|>\n{GENERIC}\n<|embed|>\n{Q}",
    ),
    # mteb 1.21, RetrievalEvaluator.py: title and text joined with a space
    ("facebook/mcontriever-msmarco@mfollowir", f"{T} {D}", f"{Q} {N}", Q),
    ("castorini/mdpr-tied-pft-msmarco-ft-all@mfollowir", f"{T} {D}", f"{Q} {N}", Q),
    # xlang-ai/instructor-embedding, InstructorEmbedding/instructor.py L413-419: both stripped, no space between
    (
        "hkunlp/instructor-xl",
        f"Represent the document for retrieval:{T} {D}",
        f"{N}{Q}",
        f"Represent the question for retrieving supporting documents:{Q}",
    ),
    # castorini/rank_llm, rerank/inference_handler.py: "Title: " + title + " Content: " + text
    *(
        (name, f"Title: {T} Content: {D}", f"{Q} {N}", Q)
        for name in ("castorini/rank_zephyr_7b_v1_full", "castorini/rank_vicuna_7b_v1", f"{MISTRAL}@listwise")
    ),
]
PROMPTRIEVERS = [name for name in SHIPPED.entries if "/promptriever-" in name]
SETTINGS = {  # entry: what else its runs were made with
    # mFollowIR, section 4.3: default max length, FlagEmbedding's 512
    "BAAI/bge-reranker-v2-m3@mfollowir": {"max_length": 512},
    # mteb 1.21: sentence-transformers' mean pooling and cos_sim
    "castorini/mdpr-tied-pft-msmarco-ft-all@mfollowir": {"pooling": "mean", "normalize": True, "document_length": None},
    "facebook/mcontriever-msmarco@mfollowir": {"pooling": "mean", "normalize": True},
    # mteb rerankers_monot5_based.py: truncation=True, max_length=min(2048, …), fp_options float16
    "jhu-clsp/FollowIR-7B@mfollowir": {"cut_prompt": True, "max_length": 2048, "dtype": "float16"},
    f"{MISTRAL}@mfollowir": {"cut_prompt": True, "max_length": 2048, "dtype": "float16"},
    "unicamp-dl/mt5-13b-mmarco-100k@mfollowir": {"cut_prompt": True, "max_length": 2048},
    "jhu-clsp/FollowIR-7B": {"cut_prompt": False},
    # orionw/FollowIR and EIT-NLP/InfoSearch, reranker_models.py: the same, monoT5 at its tokenizer's 512
    "castorini/monot5-3b-msmarco-10k@followir": {"cut_prompt": True, "max_length": 512},
    "meta-llama/Meta-Llama-3.1-8B-Instruct@infosearch": {"cut_prompt": True, "max_length": 2048},
    # EIT-NLP/InfoSearch, evaluate_e5.py: AutoModel without remote code, avg pooling, 512, float16
    "Alibaba-NLP/gte-Qwen2-7B-instruct@infosearch": {
        **{"pooling": "mean", "bidirectional": False, "append_eos": False, "max_length": 512, "dtype": "float16"}
    },
    # the same, "For Nv Embed": the pooling of outputs["sentence_embeddings"], after its code's latent attention
    "nvidia/NV-Embed-v2@infosearch": {"pooling": "mean", "bidirectional": True, "max_length": 512, "pool_prefix": True},
    # deu05232/FollowTable, beir_utils.py, DenseEncoder_nvemb: no instruction is told to _do_encode, so none is masked
    "nvidia/NV-Embed-v2@followtable": {"pool_prefix": True, "max_length": 512},
    # deu05232/FollowTable, rerankers.py
    "jhu-clsp/FollowIR-7B@followtable": {"dtype": "float16"},
    # mteb nomic_models.py: layer_norm before normalisation; gritlm_models.py: no limit, so the model's own
    "nomic-ai/nomic-embed-text-v1.5": {"layer_norm": True, "normalize": True},
    "GritLM/GritLM-7B@mteb": {"max_length": 32768},
    "GritLM/GritLM-7B@mfollowir": {"max_length": 512},
    # castorini/rank_llm at 1e79c19 (2024), and its prompt_templates since June 2025
    "castorini/rank_zephyr_7b_v1_full": {"prompt": "rank_zephyr"},
    "castorini/rank_zephyr_7b_v1_full@infosearch": {"prompt": "rank_zephyr"},
    "castorini/rank_zephyr_7b_v1_full@rank_llm": {"prompt": "rank_llm"},
    "castorini/rank_vicuna_7b_v1@infosearch": {"prompt": "rank_vicuna"},
    "openai/gpt-4o@infosearch": {"prompt": "rank_gpt_2024"},
}


def all_presets() -> Iterator[tuple[str, Model]]:
    """Every entry, and as NAME@PRESET every preset, of the shipped file alone."""
    for name, one in SHIPPED.entries.items():
        yield name, one
        for preset in one.presets:
            yield f"{name}@{preset}", one.preset(preset)


def golden() -> str:
    """What every entry and preset makes of the example, one text a line."""
    title, text = EXAMPLE_DOCUMENT.title, EXAMPLE_DOCUMENT.text
    lines = ["# Written by python tests/commands/test_models.py: ↵ is a newline, ␣ a space that is easily missed."]
    for name, one in all_presets():
        lines += ["", f"{name}  {one.family or catalogue.UNKNOWN}, {one.status}"]
        if one.status == "named" and one.query is None:
            continue
        document = document_text(one, title, text)
        lines += [f"  document  {visible(document)}", f"  untitled  {visible(document_text(one, '', text))}"]
        for condition in PINNED:
            query = query_text(one, EXAMPLE_QUERY, EXAMPLE[condition])
            lines.append(f"  {condition.ljust(8)}  {visible(query)}")
            if one.family == "block":
                lines.append(f"    prompt  {visible(block_text(one, EXAMPLE_QUERY, EXAMPLE[condition], [document]))}")
            if one.prompt is not None:
                asked = one.prompt if FAMILIES[one.family].prompt else prompt_text(one.prompt, query, document)
                lines.append(f"    prompt  {visible(asked)}")
    return "\n".join(lines) + "\n"


def test_every_text_is_as_it_was_reviewed() -> None:
    assert golden() == GOLDEN.read_text(encoding="utf-8"), "read the difference, then run this file"


@pytest.mark.parametrize(("name", "document", "asked", "alone"), AUTHORS)
def test_a_text_is_that_of_the_authors_code(name: str, document: str, asked: str, alone: str) -> None:
    one = SHIPPED.find(name)
    assert document_text(one, T, D) == document
    assert (query_text(one, Q, N), query_text(one, Q, "")) == (asked, alone)


@pytest.mark.parametrize("name", PROMPTRIEVERS)
def test_promptriever_reads_passages_as_its_training_did(name: str) -> None:
    """orionw/tevatron, dataset.py, format_passage: f"{prefix} {title.strip()} {text.strip()}", prefix "passage: "."""
    one = SHIPPED.find(name)
    assert [document_text(one, title, D) for title in (T, "")] == [f"passage:  {T} {D}", f"passage:   {D}"]
    assert document_text(one.preset("mteb"), "", D) == f"passage:  {D}"  # mteb's own prefix and the text
    assert document_text(one.preset("followtable"), "", D).endswith(f"passage: {D}")


@pytest.mark.parametrize(("name", "settings"), SETTINGS.items())
def test_a_setting_is_that_of_the_authors_code(name: str, settings: dict[str, object]) -> None:
    one = SHIPPED.find(name)
    assert {field: getattr(one, field) for field in settings} == settings


def printed_in(paper: str) -> set[tuple[str, str]]:
    """The systems of a paper's tables: the name printed and the registry's."""
    data = json.loads((files("heed.addons.published") / f"{paper}.json").read_text(encoding="utf-8"))
    rows = [row for table in data["tables"] for row in table["rows"] if row["system"]]
    assert all(row["model"] for row in rows), paper
    return {(row["system"], row["model"]) for row in rows}


@pytest.mark.parametrize(
    ("paper", "count"),
    [("followir", 31), ("mfollowir", 18), ("followtable", 23), ("infosearch", 18), ("modern", 7), ("mteb", 2)],
)
def test_a_papers_list_is_that_of_its_tables(heed: Heed, tmp_path: Path, paper: str, count: int) -> None:
    result = heed(COMMAND, "--paper", paper, "--quiet", "--json", "all.json")
    expected = printed_in(paper)
    assert len(expected) == count  # by hand; InfoSearch has one name for three models
    rows = [re.split(r"  +", line)[:2] for line in result.stdout.splitlines()[1:]]
    assert {(name, row[1]) for row in rows for name in row[0].split(", ")} == expected
    facts = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in facts] == [row[1] for row in rows]
    assert expected <= {(name, one["name"]) for one in facts for name in one["names"][paper]}


@pytest.mark.parametrize("paper", PAPERS)
def test_a_name_stands_in_one_place(paper: str) -> None:
    """The registry has only names that no table prints."""
    printed = {system for system, _ in printed_in(paper)}
    assert printed.isdisjoint(one.names[paper] for one in SHIPPED.entries.values() if paper in one.names)


@pytest.mark.parametrize("paper", ["mfollowir", "infosearch"])
def test_every_system_of_a_paper_has_its_preset(paper: str) -> None:
    # BM25 is another program in InfoSearch; @dense and @listwise are presets of that paper alone
    names = [name for name in in_tables(paper) if name != "bm25" and "@" not in name]
    assert [SHIPPED.find(f"{name}@{paper}").variant for name in names] == [paper] * len(names)


def test_entries_with_weights_are_hub_ids_and_pinned_or_say_that_they_are_not() -> None:
    for name, one in all_presets():
        if one.status != "runs" or one.family in ("lexical", "table-encoder"):  # the latter is a folder of the user's
            continue
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", one.source), name
        for revision in filter(None, (one.revision, one.base_revision)):
            assert re.fullmatch(r"[0-9a-f]{40}", revision), name
        assert one.revision or "o revision is pinned" in one.note, name
        assert bool(one.base) == bool(one.base_revision) == (one.family == "peft"), name
        assert one.source == name.partition("@")[0] or name.startswith("Alibaba-NLP/gte-multilingual-base")


def test_entries_that_bring_code_are_pinned_and_named_ones_say_why() -> None:
    for name, one in all_presets():
        assert one.revision or not one.remote_code, name
        assert one.status == "runs" or one.note, name
        assert not one.note or (one.note.endswith(".") and "\n" not in one.note), name


def test_entries_have_the_settings_that_their_family_reads() -> None:
    for name, one in all_presets():
        reads = one.status == "runs" and one.family in ("causal", "seq2seq", "reasoning")
        assert (one.tokens is not None) == reads, name
        assert not reads or one.prompt, name
        if one.family and FAMILIES[one.family].prompt and one.status != "named":
            assert one.prompt in PROMPTS, name
        assert one.label is None or one.family == "cross-encoder", name
        assert one.pool_prefix or (one.query or "").index("{query}") > 0, name
        assert "{query}" in (one.query or "{query}"), name
        assert "{text}" in (one.document or "{text}"), name


@pytest.mark.parametrize(("name", "one"), [pair for pair in all_presets() if pair[1].status != "named"])
def test_two_instructions_give_two_inputs(name: str, one: Model) -> None:
    texts = dict(inputs(one))
    for condition in EXAMPLE:
        texts.setdefault(condition, "".join(text for label, text in texts.items() if label.startswith(f"{condition},")))
    assert len({texts[condition] for condition in EXAMPLE}) == 4


@pytest.mark.parametrize("name", [name for name, one in SHIPPED.entries.items() if one.status == "named"])
def test_systems_without_weights_refuse_with_their_reason(name: str) -> None:
    with pytest.raises(HeedError, match=r"cannot be run \(.{20,}\); bring its run file") as caught:
        SHIPPED.resolve(name, [])
    assert SHIPPED.find(name).note in str(caught.value)


def test_an_unknown_preset_names_those_that_there_are() -> None:
    known = "author, mfollowir, followir, infosearch, followtable, mteb"
    with pytest.raises(HeedError, match=f"no preset 'trec'; expected one of {known}"):
        SHIPPED.find("intfloat/e5-mistral-7b-instruct@trec")
    with pytest.raises(HeedError, match="no preset 'mteb'"):
        find_entry(SHIPPED, "Birdie@mteb")
    assert SHIPPED.find("GritLM/GritLM-7B@reranker").name == "GritLM-7B@reranker"


def test_what_is_easily_missed_is_made_visible() -> None:
    assert visible("a  b c\n d \n") == "a␣␣b c↵␣d␣↵"
    assert visible(" x\t\x00 ") == "␣x\\t\\x00␣"
    assert visible("大 é") == "大 é"


def test_what_is_missing_here_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    here = Model(str(folder), needs=("pytest", "no-such-package"), base="nobody/nothing")
    assert missing(here) == ["pip install no-such-package", "weights", "weights of nobody/nothing"]
    (folder / "model.safetensors").touch()
    assert missing(here._replace(needs=(), base=None)) == []
    assert missing(Model("not a hub id", pickled=True)) == ["weights"]
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert missing(SHIPPED.find("openai/gpt-4o")) == ["OPENAI_API_KEY"]
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    assert (
        missing(SHIPPED.find("openai/gpt-4o")) == missing(SHIPPED.find("bm25")) == missing(SHIPPED.find("Birdie")) == []
    )
    assert missing(Model("somebody/else", status="api")) == []


def test_the_list_on_a_strangers_machine(heed_process: Heed, tmp_path: Path) -> None:
    result = heed_process(COMMAND, "--json", tmp_path / "all.json")
    assert (result.returncode, result.stderr) == (0, "123 models; python -m pipelines.models NAME shows one in full\n")
    lines = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert list(lines) == ["name", *list_models(SHIPPED)]
    assert lines["samaya-ai/promptriever-llama2-7b-v1"].split()[1:3] == ["peft", "lacks"]
    assert "gated  " in lines["samaya-ai/promptriever-llama2-7b-v1"]
    _, _, lacking, *_, names = re.split(r"  +", lines["samaya-ai/promptriever-llama2-7b-v1"])
    assert lacking == "lacks weights; weights of meta-llama/Llama-2-7b-hf"
    assert names == "Promptriever-Llama2, Promptriever (7B), Promptriever"
    assert "  lacks COHERE_API_KEY  " in lines["cohere/embed-english-v3.0"]
    assert lines["cohere/embed-english-v3.0"].endswith("Cohere v3 English")
    assert "runs its own code" in lines["jinaai/jina-reranker-v2-base-multilingual"]
    written = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in written] == list(list_models(SHIPPED))
    assert written[0]["family"] == "lexical" and written[1]["missing"] == ["weights"]


def test_weights_in_the_hubs_cache_are_found_without_a_network(heed_process: Heed, environment: dict[str, str]) -> None:
    name, revision = "intfloat/e5-base-v2", SHIPPED.find("intfloat/e5-base-v2").revision
    cache = Path(environment["HOME"]) / ".cache/huggingface/hub" / f"models--{name.replace('/', '--')}"
    (cache / "snapshots" / str(revision)).mkdir(parents=True)
    (cache / "snapshots" / str(revision) / "model.safetensors").touch()
    lines = heed_process(COMMAND, "--quiet").stdout.splitlines()
    assert re.search(r" runs  +MIT  +-  +E5-base-v2$", next(line for line in lines if line.startswith(name)))


def test_one_model_in_full(heed: Heed, tmp_path: Path) -> None:
    result = heed(COMMAND, "jhu-clsp/FollowIR-7B", "--json", tmp_path / "one.json")
    assert (result.returncode, result.stderr) == (0, "")
    told = dict(re.split(r"  +", line.strip(), maxsplit=1) for line in result.stdout.splitlines() if "  " in line)
    assert told["licence"] == "Apache-2.0" and told["gated"] == told["own code"] == "no"
    assert told["source"] == "jhu-clsp/FollowIR-7B, revision 4d25d437e38b510c01852070c0731e8f6e1875d1"
    assert told["status"] == "lacks weights"
    assert told["changed"].startswith("<s> [INST] You are an expert Google searcher")
    assert "↵↵Query: solar power in the desert Plants in Africa are relevant, but not" in told["changed"]
    assert told["changed"].endswith('either "true" or "false"): [/INST]␣')
    written = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    assert written["sees"]["changed"].endswith("[/INST] ") and written["sees"].keys() == EXAMPLE.keys()


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("gecko", ["google/text-embedding-preview-0409"]),
        ("plaid + mt5", ["Naverloo-PLAID-mT5"]),
        ("GritLM-Reranker", ["GritLM/GritLM-7B@reranker"]),
        ("Mistral-ins-v0.2", [MISTRAL, f"{MISTRAL}@dense", f"{MISTRAL}@listwise"]),
    ],
)
def test_a_system_is_found_by_the_name_that_a_paper_prints(
    heed: Heed, tmp_path: Path, word: str, found: list[str]
) -> None:
    result = heed(COMMAND, word, "--quiet", "--json", "found.json")
    assert (result.returncode, result.stderr) == (0, "")
    facts = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in (facts if len(found) > 1 else [facts])] == found
    assert all(name in result.stdout for name in found)


def test_every_printed_name_finds_its_system(heed: Heed) -> None:
    models = list_models(SHIPPED)
    for paper in PAPERS:
        for printed, model in printed_in(paper):
            assert model in called(models, printed.upper()), printed
    told = heed(COMMAND, "gecko@followir").stdout
    assert told.startswith("google/text-embedding-preview-0409@followir") and "FollowIR: Google Gecko" in told


def test_facts_that_matter_before_a_download_are_shown(heed: Heed) -> None:
    gated = heed(COMMAND, "samaya-ai/promptriever-llama3.1-8b-v1@mteb").stdout
    assert "yes: accept its terms at https://huggingface.co/meta-llama/Meta-Llama-3.1-8B, then hf auth login" in gated
    assert "query:␣␣solar power in the desert Plants in Africa are relevant." in gated
    code = heed(COMMAND, "jinaai/jina-reranker-v2-base-multilingual").stdout
    assert "yes, which runs only with --trust-remote-code" in code and "CC-BY-NC-4.0" in code
    unknown = heed(COMMAND, "Table-DPR").stdout
    assert "named: cannot be run" in unknown and "what it sees of a topic and a document is not known" in unknown
    paid = heed(COMMAND, "openai/gpt-4o").stdout
    assert "$2.5 and $10 for a million tokens of input and of output" in paid
    assert "reversed, 8 user" in paid and "Rank the 2 passages above" in paid


def test_a_file_of_ones_own_and_a_local_folder_are_shown(heed: Heed, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"mine": {"source": "/models/mine", "query": "Q: {query} {instruction}"}}))
    shown = heed(COMMAND, "mine", "--models", mine).stdout
    assert "Q: solar power in the desert Plants" in shown
    assert "family    not told by its entry; it will be read from the model's files" in shown
    (tmp_path / "folder").mkdir()
    shown = heed(COMMAND, tmp_path / "folder").stdout
    assert "status    lacks weights" in shown and "not told by its files; without --family a bi-encoder as" in shown


def test_the_licence_of_a_folder_is_that_of_its_readme(heed: Heed, tmp_path: Path, tiny_cross_encoder: Path) -> None:
    folder = shutil.copytree(tiny_cross_encoder, tmp_path / "mine")
    heads = {"license: apache-2.0": "apache-2.0", "license: other\nlicense_name: nc": "nc", "license: [": "unknown"}
    for head, licence in {**heads, 'license: "x\\e[1m"': "x\\x1b[1m"}.items():
        (folder / "README.md").write_text(f"---\n{head}\n---\n# Mine\n")
        shown = heed(COMMAND, folder).stdout
        assert f"licence   {licence}\n" in shown and "status    runs\n" in shown
    assert "LOAD REPORT" not in heed(COMMAND, folder, "--example").stderr


def test_a_local_folder_is_shown_as_what_its_files_are(heed: Heed, tmp_path: Path, tiny_cross_encoder: Path) -> None:
    result = heed(COMMAND, tiny_cross_encoder)
    assert "family    cross-encoder, guessed from config.json (BertForSequenceClassification)" in result.stdout
    assert "what it sees of an example, query and document together as one pair" in result.stdout
    (tmp_path / "lm").mkdir()
    (tmp_path / "lm" / "config.json").write_text(json.dumps({"architectures": ["Qwen3ForCausalLM"]}))
    shown = heed(COMMAND, "lm").stdout
    assert "family    causal, guessed from config.json (Qwen3ForCausalLM)" in shown
    assert "status    lacks prompt in its entry; tokens in its entry; weights" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("monot5-3b-msmarko",), "did you mean castorini/monot5-3b-msmarco-10k or "),
        (("qwertyuiop",), "qwertyuiop: no entry of the registry and no folder; without a name, all are listed"),
        (("gecko@x",), "google/text-embedding-preview-0409: no preset 'x'; expected one of author, followir"),
        (("Birdie@x",), "Birdie: no preset 'x'; expected one of author"),
        (("Birdie", "--paper", "followir"), "--paper narrows the list"),
        (("--models", "no.json"), "no.json: not a models file"),
    ],
)
def test_mistakes_are_told(heed: Heed, arguments: tuple[str, ...], said: str) -> None:
    result = heed(COMMAND, *arguments)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ") and said in result.stderr


if __name__ == "__main__":
    GOLDEN.write_text(golden(), encoding="utf-8")
