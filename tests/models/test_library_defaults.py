"""A model's folder without an entry is read as sentence-transformers and transformers read it."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import tiny_config, tiny_tokenizer
from golden_models import pairs, ruled, unigram
from model_inputs import CPU
from safetensors.torch import load_file, save_file
from shown_prompts import assert_shown_is_read, every_entry, every_prompt
from tiny_language_models import SIZES, llama_tokenizer, save
from tiny_sparse_models import inference_free, of_vectors, splade

import heed
from heed.errors import HeedError, ModelError
from heed.files import write_json
from heed.models.encoders import SentenceEncoder
from heed.models.files import guess, source_folder
from heed.models.listing import find_entry
from heed.models.registry.entries import Model
from heed.models.rerankers.cross_encoder import CrossEncoderReranker
from heed.progress import gathering
from heed.types import Document, Query

QUERY = Query("1", "a storm damage", "a storm", "damage", "eng", "original")
TEXTS = ["a storm", "use <pad> to fill the batch, then a storm", "", "x " * 300, "b"]
DOCUMENTS = [Document(str(number), "", text) for number, text in enumerate(TEXTS)]


def xlmr(folder: Path, pad: int = 1) -> Path:
    """A network of RoBERTa's form, whose positions begin after the token for padding, over a Unigram vocabulary."""
    from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification

    tokenizer = unigram()
    tokenizer.pad_token, tokenizer.model_max_length = tokenizer.convert_ids_to_tokens(pad), int(1e30)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer),
        num_labels=1,
        max_position_embeddings=98,
        type_vocab_size=1,
        pad_token_id=pad,
        **sizes,
    )
    return save(folder, ruled(XLMRobertaForSequenceClassification(config)), tokenizer)


def tokenizer_with(folder: Path, **settings: Any) -> Path:
    """Change settings of a saved tokenizer."""
    path = folder / "tokenizer_config.json"
    write_json(path, json.loads(path.read_text()) | settings)
    return folder


def scores(folder: Path, documents: list[Document] = DOCUMENTS) -> list[float]:
    return CrossEncoderReranker(Model(str(folder)), CPU).score(QUERY, documents)


def predicted(folder: Path, texts: list[str] = TEXTS, most: int = 1024) -> list[float]:
    """The logits of transformers' own class, one pair at a time."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    logits = []
    for text in texts:
        pair = tokenizer([QUERY.text], [text.strip()], truncation="only_second", max_length=most, return_tensors="pt")
        with torch.no_grad():
            logits.append(float(network(**pair).logits[0, 0]))
    return logits


def without(folder: Path, *beginnings: str) -> Path:
    """Take weights out of a model's file."""
    path = folder / "model.safetensors"
    weights = {name: weight for name, weight in load_file(path).items() if not name.startswith(beginnings)}
    save_file(weights, path, metadata={"format": "pt"})
    return folder


def with_settings(encoder: Path, folder: Path, settings: dict[str, Any]) -> Path:
    """Save an encoder as sentence-transformers does, with other settings in its own file."""
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(str(encoder), device="cpu").save(str(folder))
    write_json(folder / "config_sentence_transformers.json", settings)
    return folder


@pytest.mark.parametrize("saved", [{}, {"similarity_fn_name": None}, {"similarity_fn_name": "cosine"}, None])
def test_vectors_are_compared_by_cosine_where_the_files_name_no_similarity(
    tmp_path: Path, tiny_encoder: Path, saved: dict[str, Any] | None
) -> None:
    from sentence_transformers import SentenceTransformer

    folder = tiny_encoder if saved is None else with_settings(tiny_encoder, tmp_path / "m", saved)
    theirs = SentenceTransformer(str(folder), device="cpu")
    expected = theirs.similarity(theirs.encode_query([QUERY.text]), theirs.encode_document(["a storm", "b", "c d"]))
    documents = [Document(str(number), "", text) for number, text in enumerate(["a storm", "b", "c d"])]
    ours = SentenceEncoder(Model(str(folder)), CPU)
    assert ours.cosine
    np.testing.assert_allclose(
        ours.encode_queries([QUERY]) @ ours.encode_documents(documents).T, expected.numpy(), atol=1e-6
    )


def test_a_similarity_that_no_search_knows_is_refused(tmp_path: Path, tiny_encoder: Path) -> None:
    with_settings(tiny_encoder, tmp_path / "m", {"similarity_fn_name": "euclidean"})
    with pytest.raises(ModelError, match="similarity_fn_name is 'euclidean', but vectors are searched by cosine or"):
        SentenceEncoder(Model(str(tmp_path / "m")), CPU)
    assert SentenceEncoder(Model(str(tmp_path / "m"), similarity="dot"), CPU).cosine is False


@pytest.mark.golden(
    program="transformers 5.23.0", compared="scores of texts that contain the padding token", systems=("cross-encoder",)
)
@pytest.mark.parametrize("pad", [0, 1])  # 1 is the end of a text: a configuration with another token for padding
def test_positions_are_those_of_transformers_where_a_text_has_the_token_for_padding(tmp_path: Path, pad: int) -> None:
    folder = xlmr(tmp_path / "m", pad)
    assert scores(folder) == pytest.approx(predicted(folder, most=96 if pad else 97), abs=1e-5)


@pytest.mark.golden(
    program="transformers 5.23.0",
    compared="scores of a folder with a single file of weights and shards",
    systems=("cross-encoder",),
)
def test_a_single_file_of_weights_is_read_before_older_shards(tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    folder = pairs(tmp_path / "m")
    newer = predicted(folder)
    shards = AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.no_grad():
        shards.classifier.weight.neg_()
    shards.save_pretrained(tmp_path / "shards", max_shard_size="20KB")
    for path in (tmp_path / "shards").glob("model*"):
        shutil.copy(path, folder)
    assert len(list(folder.glob("model-*-of-*.safetensors"))) > 1
    assert scores(folder) == pytest.approx(newer, abs=1e-5)


@pytest.mark.golden(program="transformers 5.23.0", compared="scores of an empty document", systems=("cross-encoder",))
@pytest.mark.parametrize("make", [pairs, xlmr])
def test_an_empty_document_may_come_first(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    folder = make(tmp_path / "m")
    order = [2, 0, 1]
    expected = predicted(folder, [TEXTS[number] for number in order])
    assert scores(folder, [DOCUMENTS[number] for number in order]) == pytest.approx(expected, abs=1e-5)
    assert scores(folder, [DOCUMENTS[2]]) == pytest.approx(expected[:1], abs=1e-5)


@pytest.mark.golden(program="transformers 5.23.0", compared="scores of truncated pairs", systems=("cross-encoder",))
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_long_document_is_cut_at_the_tokenizers_side(tmp_path: Path, side: str) -> None:
    folder = tokenizer_with(pairs(tmp_path / "m"), truncation_side=side)
    text = "a " * 600 + "b " * 600
    assert scores(folder, [Document("1", "", text)]) == pytest.approx(predicted(folder, [text]), abs=1e-5)
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(folder), device="cpu").encode_document([text], normalize_embeddings=True)
    ours = SentenceEncoder(Model(str(folder)), CPU).encode_documents([Document("1", "", text)])
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_a_text_has_no_more_tokens_than_the_network_has_positions(tmp_path: Path) -> None:
    folder = xlmr(tmp_path / "m")  # 98 rows of positions, of which 2 come before the first token's
    encoder = CrossEncoderReranker(Model(str(folder)), CPU)
    assert all(np.isfinite(encoder.score(QUERY, DOCUMENTS)))
    with pytest.raises(ModelError, match="max_length 97, but the model reads 96 tokens at most"):
        CrossEncoderReranker(Model(str(folder)).limited(97), CPU).load()


@pytest.mark.golden(
    program="transformers 5.23.0", compared="scores of a classifier without a padding token", systems=("cross-encoder",)
)
def test_a_classifier_without_a_token_for_padding_reads_pairs_one_by_one(tmp_path: Path) -> None:
    from transformers import LlamaConfig, LlamaForSequenceClassification

    tokenizer = llama_tokenizer()
    tokenizer.pad_token = None
    config = LlamaConfig(vocab_size=len(tokenizer), num_labels=1, **SIZES)
    folder = save(tmp_path / "m", ruled(LlamaForSequenceClassification(config)), tokenizer)
    documents = [Document("1", "", "a storm"), Document("2", "", "a river, and no storm")]
    assert scores(folder, documents) == pytest.approx(predicted(folder, ["a storm", "a river, and no storm"]), abs=1e-5)


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft's
def test_a_lora_adapter_of_a_classifier_says_that_it_must_be_merged(tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForSequenceClassification

    base = AutoModelForSequenceClassification.from_pretrained(pairs(tmp_path / "base"))
    settings = LoraConfig(r=2, target_modules=["query", "value"], task_type="SEQ_CLS")
    get_peft_model(base, settings).save_pretrained(tmp_path / "lora")
    model = Model(str(tmp_path / "lora"))
    assert guess(model) == ("cross-encoder", "adapter_config.json (task_type SEQ_CLS)")
    with pytest.raises(ModelError, match=r"is a LoRA adapter of a classifier; merge it first .*merge_and_unload"):
        CrossEncoderReranker(model, CPU)


def test_scores_that_depend_on_the_batch_are_a_warning(tmp_path: Path) -> None:
    from transformers import LlamaConfig, LlamaModel

    tokenizer_with(pairs(tmp_path / "left"), padding_side="left")
    dynamic = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    config = LlamaConfig(vocab_size=len(llama_tokenizer()), rope_parameters=dynamic, **SIZES)
    save(tmp_path / "dynamic", ruled(LlamaModel(config)), llama_tokenizer())
    with gathering([]) as warnings:
        CrossEncoderReranker(Model(str(tmp_path / "left")), CPU).load()
        SentenceEncoder(Model(str(tmp_path / "dynamic")), CPU).load()
    assert [warning.split(", as ")[1].split(" ")[0] for warning in warnings] == ["padding", "its"]
    assert all("scores depend on the other texts of a batch" in warning for warning in warnings)


def test_a_batch_that_does_not_fit_into_memory_is_halved_once_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    from heed.models.local import Batches

    sizes: list[int] = []

    def read(batch: list[int], most: int) -> list[int]:
        sizes.append(len(batch))
        if len(batch) > most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return batch

    batches = Batches("m", torch.device("cpu"), replace(CPU, batch_size=8))
    assert batches.read([3] * 10, lambda batch: read(batch, 4)) == list(range(10))
    assert sizes == [8, 4, 4, 2]
    assert "m: CUDA out of memory; batches are halved, to at most 4 texts" in capsys.readouterr().err
    with pytest.raises(HeedError, match="m: CUDA out of memory, for 4 texts at once; give a smaller batch_size=N or"):
        batches.read([3] * 10, lambda batch: read(batch, 2))


@pytest.mark.parametrize("size", [1, 2, None])
def test_the_size_of_a_batch_changes_no_score_and_no_recipe(tmp_path: Path, size: int | None) -> None:
    folder = pairs(tmp_path / "m")
    reranker = CrossEncoderReranker(Model(str(folder)), replace(CPU, batch_size=size))
    assert reranker.score(QUERY, DOCUMENTS) == pytest.approx(predicted(folder), abs=1e-5)
    assert reranker.config == CrossEncoderReranker(Model(str(folder)), CPU).config


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_the_librarys_on_a_cpu_too(tmp_path: Path, dtype: str) -> None:
    from sentence_transformers import CrossEncoder

    folder = pairs(tmp_path / "m")
    reranker = CrossEncoderReranker(Model(str(folder)), replace(CPU, dtype=dtype, batch_size=1))
    theirs = CrossEncoder(str(folder), device="cpu", model_kwargs={"dtype": dtype})
    expected = theirs.predict(
        [(QUERY.text, "a storm"), (QUERY.text, "b")], batch_size=1, activation_fn=torch.nn.Identity()
    )
    documents = [DOCUMENTS[0], DOCUMENTS[4]]
    assert reranker.score(QUERY, documents) == pytest.approx(expected.tolist(), abs=1e-6)
    assert reranker.config["precision"] == dtype
    assert {type(score) for score in reranker.score(QUERY, documents)} == {float}


def test_a_head_may_be_there_and_a_pooler_may_be_missing_where_vectors_are_pooled(tmp_path: Path) -> None:
    folder = without(pairs(tmp_path / "m"), "bert.pooler")
    assert SentenceEncoder(Model(str(folder)), CPU).encode_documents(DOCUMENTS).shape == (5, 32)


def masked(folder: Path, card: str = "") -> Path:
    """A real masked language model of BERT's form, as transformers saves it."""
    from transformers import BertForMaskedLM

    save(folder, BertForMaskedLM(tiny_config()), tiny_tokenizer())
    if card:
        (folder / "README.md").write_text(card)
    return folder


def splade_without_settings(folder: Path) -> Path:
    made = splade(folder)
    (made / "config_sentence_transformers.json").unlink()
    return made


def splade_of_its_authors(folder: Path) -> Path:
    return masked(folder / "naver", "---\ntags:\n- splade\n---\n")


def splade_named_in_its_config(folder: Path) -> Path:
    made = masked(folder / "copy")
    content = json.loads((made / "config.json").read_text())
    write_json(made / "config.json", {**content, "_name_or_path": "naver/splade-v3"})
    return made


def raw(folder: Path) -> Path:
    return masked(folder / "raw", "tags: [fill-mask]")


def pretrained(folder: Path) -> Path:
    from transformers import BertForPreTraining

    return save(folder / "pretrained", BertForPreTraining(tiny_config()), tiny_tokenizer())


SPARSE = [
    (splade, "config_sentence_transformers.json"),
    (inference_free, "config_sentence_transformers.json"),
    (of_vectors, "config_sentence_transformers.json"),
    (splade_without_settings, "modules.json"),
    (splade_of_its_authors, "README.md"),
    (splade_named_in_its_config, "config.json"),
]
LOADS = {"family": "bi-encoder"}, {"family": "cross-encoder"}, {"similarity": "dot"}


@pytest.mark.parametrize(("make", "origin"), SPARSE)
def test_learned_sparse_retrieval_is_known_by_its_files_and_is_no_other_family(
    tmp_path: Path, make: Callable[[Path], Path], origin: str
) -> None:
    folder = make(tmp_path)
    assert guess(Model(str(folder))) == ("learned-sparse", origin)
    for settings in LOADS:
        with pytest.raises(ModelError, match=f"a model of learned sparse retrieval by its {origin}, no bi-encoder and"):
            heed.reranker(str(folder), device="cpu", registry=heed.Registry(defaults=settings))


@pytest.mark.parametrize(("make", "kind"), [(raw, "BertForMaskedLM"), (pretrained, "BertForPreTraining")])
def test_a_masked_language_model_is_named_and_refused(tmp_path: Path, make: Callable[[Path], Path], kind: str) -> None:
    folder = str(make(tmp_path))
    message = rf"^{re.escape(folder)}: a masked language model \({kind}\), .* say the family learned-sparse; .*\"cls\""
    for use in (heed.reranker, heed.encoder):
        with pytest.raises(ModelError, match=message):
            use(folder, device="cpu")
    for settings in LOADS:
        with pytest.raises(ModelError, match=message):
            heed.reranker(folder, device="cpu", registry=heed.Registry(defaults=settings))


def test_an_entry_with_a_pooling_makes_vectors_of_a_masked_language_model(tmp_path: Path) -> None:
    """As the checkpoints of RetroMAE and coCondenser are published: the class of pretraining, trained for cls."""
    from transformers import AutoModel, AutoTokenizer

    folder = raw(tmp_path)
    write_json(tmp_path / "m.json", {"mine": {"source": str(folder), "pooling": "cls", "normalize": False}})
    ours = heed.encoder("mine", device="cpu", registry=heed.Registry([tmp_path / "m.json"]))
    with torch.no_grad():
        tokens = AutoTokenizer.from_pretrained(folder)("a storm", return_tensors="pt")
        theirs = AutoModel.from_pretrained(folder)(**tokens).last_hidden_state[:, 0].numpy()
    np.testing.assert_allclose(ours.encode_documents(["a storm"]), theirs, rtol=1e-5, atol=1e-6)


def test_modules_say_how_a_masked_language_model_is_pooled(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    parts = [Transformer(str(raw(tmp_path))), Pooling(32, "cls")]
    theirs = SentenceTransformer(modules=parts, device="cpu")
    theirs.save(str(tmp_path / "whole"), create_model_card=False)
    config = tmp_path / "whole" / "config.json"
    write_json(config, {**json.loads(config.read_text()), "architectures": ["BertForMaskedLM"]})
    (tmp_path / "whole" / "README.md").write_text("It is better than SPLADE.")
    ours = heed.encoder(str(tmp_path / "whole"), device="cpu").encode_documents(["a storm"])
    np.testing.assert_allclose(ours, theirs.encode(["a storm"], normalize_embeddings=True), rtol=1e-5, atol=1e-6)


GGUF = r": GGUF, llama.cpp's form of weights, which Heed does not read; fetch them as safetensors, or convert"


def test_weights_of_llama_cpp_are_named_and_refused(tmp_path: Path) -> None:
    """A file, a folder, and an entry of either."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    for path in (tmp_path / "m.gguf", folder / "model-Q4_K_M.GGUF"):
        path.write_bytes(b"GGUF\x03\0\0\0")
    entries = {"file": {"source": str(tmp_path / "m.gguf")}, "whole": {"source": str(folder), "family": "bi-encoder"}}
    write_json(tmp_path / "m.json", entries)
    registry = heed.Registry([tmp_path / "m.json"])
    for name in (str(tmp_path / "m.gguf"), str(folder), "file", "whole"):
        with pytest.raises(ModelError, match=GGUF):
            heed.reranker(name, device="cpu", registry=registry)
    for name in (str(tmp_path / "m.gguf"), str(folder), "file"):
        with pytest.raises(ModelError, match=GGUF):
            find_entry(registry, name)  # of heed models
    save_file({"a": torch.zeros(1)}, folder / "model.safetensors")  # beside other weights it is no reason to refuse
    assert source_folder(Model(str(folder))) == folder


@every_entry
@every_prompt
def test_what_is_shown_is_what_is_read(
    tmp_path: Path, tiny_encoder: Path, prompts: dict[str, str | None], entry: dict[str, str]
) -> None:
    """The shown texts, given to the library without any prompt, have Heed's vectors, and those of its own prompts."""
    assert_shown_is_read(tmp_path, tiny_encoder, prompts, entry, SentenceEncoder, lambda vectors: vectors[0])
