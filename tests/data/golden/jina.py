"""Write jina.json: the scores of jina-reranker-v3's own modeling.py (transformers 4.57.1, torch 2.13.0) on tiny models.

From the root of the repository: ``python tests/data/golden/jina.py FOLDER``, the folder with that file as
modeling_jina.py. Its ids of the two special tokens are set to those of the tiny vocabulary.
"""

import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1] / "support"), sys.argv[1]]

import torch  # noqa: E402
from modeling_jina import JinaForRanking, format_docs_prompts_func  # noqa: E402
from tiny_language_models import block_model  # noqa: E402

QUERY = "a river?"
INSTRUCTIONS = ["", "only documents that name it", "no documents that name it."]
DOCUMENTS = ["T a short one, of 20", "with 12 numbers here", "true or false? or no", "the river has a name", "no"]
WINDOW = 100


def model_of(window: int | None) -> JinaForRanking:
    folder = block_model(Path(tempfile.mkdtemp()) / "tiny", window)
    model = JinaForRanking.from_pretrained(folder, dtype=torch.float32).eval()
    model._ensure_tokenizer()
    model.doc_embed_token_id, model.query_embed_token_id = model._tokenizer.convert_tokens_to_ids(
        ["<|embed_token|>", "<|rerank_token|>"]
    )
    return model


def one_block(model: JinaForRanking, instruction: str) -> list[float]:
    with torch.no_grad():
        return model._compute_single_batch(QUERY, DOCUMENTS, instruction=instruction or None).scores.view(-1).tolist()


def in_blocks_of_two(model: JinaForRanking) -> list[float]:
    """A capacity of 60 tokens beside the query ends a block of documents of 20 after its second."""
    model._tokenizer.model_max_length = 60 + 2 * len(QUERY)
    found = model.rerank(QUERY, DOCUMENTS, max_doc_length=30)
    return [float(one["relevance_score"]) for one in sorted(found, key=lambda one: one["index"])]


plain, sliding = model_of(None), model_of(WINDOW)
record = {
    "program": "jina-reranker-v3 modeling.py",
    "command": "python tests/data/golden/jina.py FOLDER",
    "query": QUERY,
    "instructions": INSTRUCTIONS,
    "documents": DOCUMENTS,
    "window": WINDOW,
    "text": format_docs_prompts_func(QUERY, DOCUMENTS, INSTRUCTIONS[1], plain.special_tokens),
    "scores": [one_block(plain, instruction) for instruction in INSTRUCTIONS],
    "sliding": [one_block(sliding, instruction) for instruction in INSTRUCTIONS],
    "blocks": in_blocks_of_two(plain),
}
(HERE / "jina.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
