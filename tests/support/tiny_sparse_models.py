"""Tiny models of learned sparse retrieval, as sentence-transformers' ``SparseEncoder`` saves them."""

from pathlib import Path
from typing import Any

import torch
from conftest import tiny_config, tiny_tokenizer
from golden_models import ruled
from tiny_language_models import save


def masked(folder: Path) -> Path:
    """A masked language model alone, as SPLADE's authors save theirs."""
    from transformers import BertForMaskedLM

    tokenizer: Any = tiny_tokenizer()
    config: Any = tiny_config()
    config.vocab_size = len(tokenizer)
    return save(folder, ruled(BertForMaskedLM(config)), tokenizer)


def saved(folder: Path, modules: list[Any], **settings: Any) -> Path:
    from sentence_transformers import SparseEncoder

    SparseEncoder(modules=modules, device="cpu", **settings).save(str(folder), create_model_card=False)
    return folder


def reads_documents(folder: Path, **pooling: str) -> list[Any]:
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sparse_encoder.modules import SpladePooling

    return [Transformer(str(masked(folder)), transformer_task="fill-mask"), SpladePooling(**pooling)]


def splade(folder: Path) -> Path:
    prompts = {"query": "ask: ", "document": "tell: "}
    return saved(folder / "splade", reads_documents(folder / "mlm"), prompts=prompts, max_active_dims=20)


def inference_free(folder: Path) -> Path:
    """Queries are read by a table of weights alone, as opensearch's models read them."""
    from sentence_transformers.base.modules import Router
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding

    tokenizer: Any = tiny_tokenizer()
    weights = torch.linspace(0.1, 3, len(tokenizer))
    document = reads_documents(folder / "mlm", activation_function="log1p_relu")
    router = Router.for_query_document([SparseStaticEmbedding(tokenizer, weights)], document)
    return saved(folder / "inference-free", [router])


def two_networks(folder: Path) -> Path:
    """Queries and documents have a network each, and are compared by cosine."""
    from sentence_transformers.base.modules import Router

    router = Router.for_query_document(
        reads_documents(folder / "query", pooling_strategy="sum"), reads_documents(folder / "document")
    )
    return saved(folder / "two", [router], similarity_fn_name="cosine")


def of_vectors(folder: Path) -> Path:
    """The other kind that sentence-transformers trains: a bi-encoder's vector, made sparse."""
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from sentence_transformers.sparse_encoder.modules import SparseAutoEncoder
    from transformers import BertModel

    encoder = save(folder / "plain", ruled(BertModel(tiny_config())), tiny_tokenizer())
    torch.manual_seed(0)
    return saved(folder / "csr", [Transformer(str(encoder)), Pooling(32), SparseAutoEncoder(32, 128, k=16)])
