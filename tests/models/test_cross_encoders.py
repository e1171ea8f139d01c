"""Cross-encoders: labels, tables, and instructions that leave no room."""

from pathlib import Path

import pytest
import torch
from conftest import tiny_config, tiny_tokenizer
from model_inputs import CPU

from heed.errors import HeedError
from heed.models.registry.entries import Model
from heed.models.rerankers.cross_encoder import CrossEncoderReranker
from heed.types import Document, Topic

TEXTS = ["a short one", "a longer text with 12 numbers and 大 中 国 in it", "x", "z" * 500]
DOCIDS = ["d2", "d0", "d3", "d1"]
TOPIC = Topic("1", "zho", "中 国", {"original": "only a", "changed": "only b"})


def documents(docids: list[str]) -> list[Document]:
    return [Document(docid, "T", TEXTS[int(docid[1:])]) for docid in docids]


def classifier(folder: Path, labels: int, bias: float = 0.0) -> Path:
    from transformers import BertForSequenceClassification

    torch.manual_seed(2)
    network = BertForSequenceClassification(tiny_config(num_labels=labels))
    torch.nn.init.constant_(network.classifier.bias[-1:], bias)
    network.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)  # type: ignore[attr-defined]
    return folder


def plain(folder: Path, label: int, instruction: str) -> list[float]:
    """log(p / (1 − p)) of a label by plain transformers, one pair alone, in double precision after the logits."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    bert = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    found = []
    for one in documents(DOCIDS):
        pair = tokenizer(
            f"中 国 {instruction}", f"T {one.text}", truncation="only_second", max_length=64, return_tensors="pt"
        )
        with torch.no_grad():
            chance = bert(**pair).logits[0].double().softmax(dim=0)
        found.append(float(chance[label].log() - torch.log(1 - chance[label])))
    return found


@pytest.mark.parametrize(("labels", "label"), [(2, 0), (2, 1), (3, 1)])
def test_a_label_scores_its_log_odds(tmp_path: Path, labels: int, label: int) -> None:
    folder = classifier(tmp_path / "m", labels)
    reranker = CrossEncoderReranker(Model(str(folder), label=label), CPU)
    for condition, instruction in (("original", "only a"), ("changed", "only b")):
        scores = reranker.score(TOPIC.under(condition), documents(DOCIDS))
        assert scores == pytest.approx(plain(folder, label, instruction), abs=1e-5)
        assert len(set(scores)) == len(DOCIDS)
    assert scores != reranker.score(TOPIC.under("original"), documents(DOCIDS))


def test_a_saturated_softmax_makes_no_ties(tmp_path: Path) -> None:
    folder = classifier(tmp_path / "m", 2, bias=60.0)
    scores = CrossEncoderReranker(Model(str(folder), label=1), CPU).score(TOPIC.under("query"), documents(DOCIDS))
    assert set(torch.tensor(scores).sigmoid().tolist()) == {1.0} and len(set(scores)) == len(DOCIDS)


def test_the_label_must_be_known_and_be_there(tmp_path: Path) -> None:
    two, one = classifier(tmp_path / "two", 2), classifier(tmp_path / "one", 1)
    for model, message in (
        (Model(str(two)), r"gives 2 labels a pair, .* say in its entry which label is relevance \(0 to 1\)"),
        (Model(str(two), label=2), "gives 2 labels a pair, the entry asks for label 2"),
        (Model(str(one), label=1), "gives 1 labels a pair, the entry asks for label 1"),
    ):
        with pytest.raises(HeedError, match=message):
            CrossEncoderReranker(model, CPU).load()


def test_a_cross_encoder_reads_caption_header_and_whole_rows(tiny_cross_encoder: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    rows = [f"| {'abcd'[number % 4] * 6} |" for number in range(30)]
    head = "# cap\n| header |\n| --- |"
    document = Document("t", "", "\n".join([head, *rows]), caption="cap", header="header", cells="a")
    # 64 tokens: [CLS] q q [SEP] … [SEP] leave 59; "# cap", "| header |", "| --- |" are 4 + 8 + 5, so 5 rows of 8
    kept = "\n".join([head, *rows[:5]])
    tokenizer = AutoTokenizer.from_pretrained(tiny_cross_encoder)
    assert len(tokenizer("qq", kept)["input_ids"]) <= 64 < len(tokenizer("qq", f"{kept}\n| bbbbbb |")["input_ids"])
    bert = AutoModelForSequenceClassification.from_pretrained(tiny_cross_encoder).eval()
    with torch.no_grad():
        expected = float(bert(**tokenizer("qq", kept, return_tensors="pt")).logits[0, 0])
    reranker = CrossEncoderReranker(Model(str(tiny_cross_encoder)), CPU)
    assert reranker.score(Topic("1", "eng", "qq", {}).under("query"), [document]) == pytest.approx([expected], abs=1e-5)


def test_an_instruction_that_leaves_no_room_is_an_error(tiny_cross_encoder: Path) -> None:
    reranker = CrossEncoderReranker(Model(str(tiny_cross_encoder)), CPU)
    with pytest.raises(HeedError, match="topic 9: query and instruction take .* of the model's 64 tokens"):
        reranker.score(Topic("9", "eng", "q" * 80, {}).under("query"), documents(["d0"]))
