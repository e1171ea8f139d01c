"""Write mxbai.json: scores and tokens of mxbai-rerank 0.1.6 (transformers 4.57.1, torch 2.13.0) on tiny models.

In an environment with these: ``python tests/data/golden/mxbai.py``, from the root of the repository.
"""

import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "support"))

import torch  # noqa: E402
from mxbai_rerank.mxbai_rerank_v2 import MxbaiRerankV2  # noqa: E402
from tiny_language_models import with_tokens  # noqa: E402

QUERY = "a river?"
INSTRUCTIONS = ["", "only documents that name it", "no documents that name it."]
DOCUMENTS = ["T a short one", "with numbers 12 and 中国.", "true or false"]

folder = with_tokens("Qwen2", Path(tempfile.mkdtemp()) / "tiny", ("0", "1"))
model = MxbaiRerankV2(str(folder), device="cpu", torch_dtype=torch.float32, max_length=2000)
scores = [
    model.predict([QUERY] * len(DOCUMENTS), DOCUMENTS, instruction=instruction or None).tolist()
    for instruction in INSTRUCTIONS
]
read = [
    model.tokenizer.decode(ids)
    for ids in model.prepare_inputs([QUERY], DOCUMENTS[:1], instruction=INSTRUCTIONS[1])["input_ids"]
]


def tokens(query: str, instruction: str, document: str) -> list[str]:
    """Return the tokens of a pair, of which query and document may have 60, without padding."""
    read = merging.prepare_inputs([query], [document], instruction=instruction or None)
    [ids], [mask] = read["input_ids"].tolist(), read["attention_mask"].tolist()
    return merging.tokenizer.convert_ids_to_tokens([token for token, seen in zip(ids, mask, strict=True) if seen])


folder = with_tokens("Qwen2", Path(tempfile.mkdtemp()) / "merging", ("0", "1"), merges=True)
merging = MxbaiRerankV2(str(folder), device="cpu", torch_dtype=torch.float32, max_length=60)
LONG = "with numbers 12 and true or false, " * 9
record = {
    "program": "mxbai-rerank 0.1.6",
    "command": "python tests/data/golden/mxbai.py",
    "query": QUERY,
    "instructions": INSTRUCTIONS,
    "documents": DOCUMENTS,
    "scores": scores,
    "text": read[0][read[0].index("<|im_start|>") :],
    "tokens": [
        {"instruction": instruction, "document": document, "tokens": " ".join(tokens(QUERY, instruction, document))}
        for instruction in INSTRUCTIONS[::2]
        for document in ("names it.", LONG)
    ],
}
(HERE / "mxbai.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
