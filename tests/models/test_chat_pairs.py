"""Cross-encoders with a chat template: the same scores as transformers and sentence-transformers give, and cuts."""

from pathlib import Path

import pytest
import torch
from model_inputs import CPU
from tiny_language_models import chat_cross_encoder

from heed.errors import HeedError
from heed.models.registry.entries import Model
from heed.models.rerankers.cross_encoder import ChatPairs, CrossEncoderReranker, load_cross_encoder
from heed.types import Document, Query

ROLE = "{{%- for one in messages if one.role == '{0}' %}}{{{{ one.content }}}}{{%- endfor %}}"
LINE = "{{ '\\n' }}"  # a newline after a block is left out otherwise
SYSTEM, QUERY, DOCUMENT = (ROLE.format(role) for role in ("system", "query", "document"))
QWEN = f"<|im_start|>I:{SYSTEM}{LINE}Q:{QUERY}{LINE}D:{DOCUMENT}<|im_end|>\n<|im_start|>"
NO_PLACE = f"<|im_start|>{QUERY}{LINE}D:{DOCUMENT}<|im_end|>\n<|im_start|>"  # as zerank-2's
QUERY_LAST = f"D:{DOCUMENT}{LINE}Q:{QUERY}{LINE}I:{SYSTEM} ??"  # as ctxl-rerank-v2's
DOCUMENTS = [
    Document("d1", "T", "a short one"),
    Document("d2", "", "the query of 中国 12"),
    Document("d3", "T", "true or false"),
]
LONG = Document("d4", "T", "with numbers 12 and " * 200)
TABLE = Document("d5", "T", "\n".join(f"| a | {row} |" for row in range(60)), cells="a")
ASKED = Query("1", "", "a river", "only documents that name it")
BARE = Query("1", "", "a river")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    templates = {"qwen": QWEN, "no place": NO_PLACE, "query last": QUERY_LAST, "no query": f"D:{DOCUMENT}"}
    root = tmp_path_factory.mktemp("chat")
    made = {name: chat_cross_encoder(root / name, template) for name, template in templates.items()}
    return made | {"one row": chat_cross_encoder(root / "one row", QWEN, one_row=True)}


def reranker(folder: Path) -> CrossEncoderReranker:
    return CrossEncoderReranker(Model(str(folder), "cross-encoder"), CPU)


def plain(folder: Path, text: str) -> float:
    """Logit of yes minus logit of no after ``text``, by transformers alone."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    yes, no = tokenizer.convert_tokens_to_ids(["yes", "no"])
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        logits = AutoModelForCausalLM.from_pretrained(folder).eval()(ids).logits[0, -1]
    return float(logits[yes] - logits[no])


def read(folder: Path, query: Query, document: Document) -> tuple[str, int]:
    """The text that the model reads of a pair, and its length in tokens."""
    model = Model(str(folder), "cross-encoder")
    encoder = load_cross_encoder(model, CPU)
    [ids] = ChatPairs(model, encoder).inputs("m", query, [document])["input_ids"]
    return encoder.tokenizer.decode(ids), len(ids)


@pytest.mark.parametrize(
    ("name", "query", "text"),
    [
        ("qwen", BARE, "<|im_start|>I:\nQ:a river\nD:{}<|im_end|>\n<|im_start|>"),
        ("qwen", ASKED, "<|im_start|>I:only documents that name it\nQ:a river\nD:{}<|im_end|>\n<|im_start|>"),
        ("no place", BARE, "<|im_start|>a river\nD:{}<|im_end|>\n<|im_start|>"),
        ("no place", ASKED, "<|im_start|>a river only documents that name it\nD:{}<|im_end|>\n<|im_start|>"),
        ("query last", ASKED, "D:{}\nQ:a river\nI:only documents that name it ??"),
    ],
)
def test_the_instruction_stands_where_the_template_has_it(
    folders: dict[str, Path], name: str, query: Query, text: str
) -> None:
    expected = [plain(folders[name], text.format(f"{one.title} {one.text}".strip())) for one in DOCUMENTS]
    assert reranker(folders[name]).score(query, DOCUMENTS) == pytest.approx(expected, abs=1e-4)


@pytest.mark.golden(
    program="sentence-transformers 6.2.0", compared="scores of pairs in a chat template", systems=("cross-encoder",)
)
@pytest.mark.parametrize(("name", "one_row"), [("qwen", False), ("query last", False), ("one row", True)])
def test_sentence_transformers_gives_the_same_scores(folders: dict[str, Path], name: str, one_row: bool) -> None:
    """``prompt`` is the instruction, and not given under ``query``; a model may have the logit of one word."""
    from sentence_transformers import CrossEncoder

    peer = CrossEncoder(str(folders[name]), device="cpu")
    assert (peer[1].false_token_id is None) == one_row
    pairs = [("a river", f"{one.title} {one.text}".strip()) for one in DOCUMENTS]
    found = []
    for query, options in ((ASKED, {"prompt": ASKED.instruction}), (BARE, {})):
        expected = peer.predict(pairs, activation_fn=torch.nn.Identity(), **options)
        found.append(reranker(folders[name]).score(query, DOCUMENTS))
        assert found[-1] == pytest.approx(expected.tolist(), abs=1e-4)
    assert found[0] != pytest.approx(found[1], abs=1e-3)


def test_a_default_prompt_of_the_model_stands_where_there_is_no_instruction(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    """The hub's Qwen3-Reranker brings one; predict without a prompt uses it, and so does the condition ``query``."""
    from sentence_transformers import CrossEncoder

    peer = CrossEncoder(str(folders["qwen"]), device="cpu", prompts={"web": "Given a river"}, default_prompt_name="web")
    peer.save_pretrained(str(tmp_path / "model"), create_model_card=False)
    pairs = [("a river", f"{one.title} {one.text}".strip()) for one in DOCUMENTS]
    expected = peer.predict(pairs, activation_fn=torch.nn.Identity())
    assert reranker(tmp_path / "model").score(BARE, DOCUMENTS) == pytest.approx(expected.tolist(), abs=1e-4)
    assert reranker(folders["qwen"]).score(BARE, DOCUMENTS) != pytest.approx(expected.tolist(), abs=1e-3)


@pytest.mark.parametrize(
    ("name", "begins", "ends"),
    [
        ("qwen", "<|im_start|>I:only documents that name it\nQ:a river\nD:T with", "<|im_end|>\n<|im_start|>"),
        ("query last", "D:T with numbers", "\nQ:a river\nI:only documents that name it ??"),
    ],
)
def test_a_long_document_is_cut_and_nothing_else(folders: dict[str, Path], name: str, begins: str, ends: str) -> None:
    text, length = read(folders[name], ASKED, LONG)
    assert text.startswith(begins) and text.endswith(ends)
    assert 124 <= length <= 128  # the tokenizer's limit
    body = text.removesuffix(ends).partition("D:")[2]
    assert f"{LONG.title} {LONG.text}".startswith(body)
    assert reranker(folders[name]).score(ASKED, [LONG]) == pytest.approx([plain(folders[name], text)], abs=1e-4)


def test_a_table_is_cut_between_rows(folders: dict[str, Path]) -> None:
    text, length = read(folders["qwen"], ASKED, TABLE)
    rows = text.partition("D:T ")[2].removesuffix("<|im_end|>\n<|im_start|>").split("\n")
    assert rows == TABLE.text.split("\n")[: len(rows)] and length <= 128


def test_what_leaves_no_room_and_what_reads_no_query_is_told(folders: dict[str, Path]) -> None:
    long = Query("7", "", "a river", "only documents " * 60)
    with pytest.raises(HeedError, match=r"qwen: topic 7: query, instruction and chat template take \d+ of .* 128 "):
        reranker(folders["qwen"]).score(long, DOCUMENTS)
    with pytest.raises(HeedError, match="its chat template cannot take a pair .* the roles query and document"):
        reranker(folders["no query"]).score(ASKED, DOCUMENTS)
