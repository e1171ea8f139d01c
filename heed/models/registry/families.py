"""The families of models, a row each: what makes a system of one, who computes its scores, what an entry must say."""

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from heed.addon_table import brought
from heed.compute import Compute

ENCODER, RERANKER = "encoder", "reranker"
SENTENCE_TRANSFORMERS, TRANSFORMERS, SERVICE = "sentence-transformers", "transformers", "service"
ANSWERS = Path("indexes", "api")  # where answers of services that are paid are kept, unless somebody says otherwise


class Family(NamedTuple):
    """One family.

    Its system is an ``ENCODER`` or a ``RERANKER``, made by ``made_by``, ``module:name`` in :mod:`heed.models`, or where
    that is empty by what an add-on brings for the family, of an entry and a :class:`heed.compute.Compute`, at a service
    of an entry and the folder of its answers. ``class_name`` computes its scores, and ``library`` loads it. ``vllm``:
    vLLM can run it instead. ``needs`` are fields that an entry must have. ``prompt`` is the conversation of one that
    orders documents where its entry names none. A folder is of the family where the class in its config.json ends in
    one of ``architectures``, or where sentence-transformers or pylate saved it with one of ``saved_as`` as model_type.
    """

    name: str
    system: str
    library: str
    class_name: str
    made_by: str = ""
    vllm: bool = False
    needs: tuple[str, ...] = ()
    prompt: str = ""
    architectures: tuple[str, ...] = ()
    saved_as: tuple[str, ...] = ()

    def make(self, model: Any, compute: Compute, answers: Path = ANSWERS) -> Any:
        """Return the system of ``model``, a :class:`heed.models.registry.entries.Model`, not loaded yet.

        A service's answers are kept in the folder ``answers``. Raises as the system's class does.
        """
        module, _, name = self.made_by.partition(":")
        maker = getattr(import_module(f"heed.models.{module}"), name) if name else brought(f"family {self.name}")
        return maker(model, answers if self.library == SERVICE else compute)


BI_ENCODER, CROSS_ENCODER, LATE, SPARSE = "bi-encoder", "cross-encoder", "late-interaction", "learned-sparse"
BLOCK, TABLE, API_RERANK, LEXICAL = "block", "table-encoder", "api-rerank", "lexical"
ANSWER = ("prompt", "tokens")  # of a model that answers one word
SEQ2SEQ_CLASS = "transformers.AutoModelForSeq2SeqLM"
ENCODER_CLASS = "sentence_transformers.SentenceTransformer"
PAIR_CLASS, LATE_CLASS = "sentence_transformers.CrossEncoder", "sentence_transformers.MultiVectorEncoder"
SPARSE_CLASS = "sentence_transformers.SparseEncoder"
TABLE_CLASS = "transformers.TapasModel, projected by heed"
YES_NO = "rerankers.yes_no:YesNoReranker"
_causal = partial(
    Family, system=RERANKER, library=TRANSFORMERS, class_name="transformers.AutoModelForCausalLM", vllm=True
)
ROWS = (
    Family(
        BI_ENCODER,
        ENCODER,
        SENTENCE_TRANSFORMERS,
        ENCODER_CLASS,
        "encoders:SentenceEncoder",
        architectures=("Model",),
        saved_as=("SentenceTransformer",),
    ),
    Family(
        CROSS_ENCODER,
        RERANKER,
        SENTENCE_TRANSFORMERS,
        PAIR_CLASS,
        "rerankers.cross_encoder:CrossEncoderReranker",
        architectures=("ForSequenceClassification",),
        saved_as=("CrossEncoder",),
    ),
    Family("peft", ENCODER, SENTENCE_TRANSFORMERS, f"{ENCODER_CLASS}, with peft", "encoders:PeftEncoder"),
    _causal(name="causal", made_by=YES_NO, needs=ANSWER, architectures=("ForCausalLM", "LMHeadModel")),
    Family(
        "seq2seq",
        RERANKER,
        TRANSFORMERS,
        SEQ2SEQ_CLASS,
        YES_NO,
        needs=ANSWER,
        architectures=("ForConditionalGeneration",),
    ),
    _causal(name="reasoning", made_by="rerankers.yes_no:ReasoningReranker", needs=ANSWER),
    _causal(name="listwise", made_by="rerankers.listwise_local:local_listwise", prompt="rank_zephyr"),
    Family(
        BLOCK,
        RERANKER,
        TRANSFORMERS,
        "transformers.AutoModel, projected by heed",
        "rerankers.block:BlockReranker",
        architectures=("ForRanking",),
    ),
    Family(
        LATE,
        RERANKER,
        SENTENCE_TRANSFORMERS,
        LATE_CLASS,
        architectures=("ColBERT",),
        saved_as=("MultiVectorEncoder", "ColBERT"),
    ),
    Family(SPARSE, RERANKER, SENTENCE_TRANSFORMERS, SPARSE_CLASS, saved_as=("SparseEncoder",)),
    Family("api-chat", RERANKER, SERVICE, "a service", prompt="rank_gpt"),
    Family("api-embedding", ENCODER, SERVICE, "a service"),
    Family(API_RERANK, RERANKER, SERVICE, "a service"),
    Family(LEXICAL, "", "", ""),  # BM25, which is no model
    Family(TABLE, ENCODER, TRANSFORMERS, TABLE_CLASS),
)
FAMILIES = {row.name: row for row in ROWS}
