"""Record what NV-Embed's own program computes from the tiny weights of ``tests/support/tiny_published_models.py``.

    python -m pip install torch==2.13.0 transformers==4.42.4 numpy==1.26.4 einops datasets==2.19.2 pyarrow==15.0.2
    PYTHONPATH=tests:FOLDER python tests/data/golden/nv_embed.py

FOLDER/nvembed holds configuration_nvembed.py and modeling_nvembed.py of nvidia/NV-Embed-v2 at revision
7604d305b621f14095a1aa23d351674c2859553a and an empty __init__.py.
"""

import json
import tempfile
from pathlib import Path

import torch
import transformers
from nvembed.modeling_nvembed import NVEmbedModel
from tiny_published_models import nv_embed

INSTRUCTION = "Instruct: Only documents that name a river.\nQuery: "
TEXTS = ["solar power", "a", "which rivers cross the desert, and where do they end?", "12 cats"]

folder = nv_embed(Path(tempfile.mkdtemp()))
model = NVEmbedModel.from_pretrained(folder).eval()
asked = INSTRUCTION.replace("a river", "no river")
vectors = {
    "queries": model.encode(TEXTS, instruction=INSTRUCTION, max_length=200),
    "asked otherwise": model.encode(TEXTS, instruction=asked, max_length=200),
    "documents": model.encode(TEXTS, instruction="", max_length=200),
}
ids = model.tokenizer([INSTRUCTION + text + model.tokenizer.eos_token for text in TEXTS])["input_ids"]
with torch.no_grad():  # without a mask for pooling its program returns the tokens' own
    plain = model.tokenizer(TEXTS[0], return_tensors="pt")
    states = model(plain["input_ids"], plain["attention_mask"])["sentence_embeddings"][0]
record = {
    "program": f"nvidia/NV-Embed-v2's modeling_nvembed.py, transformers {transformers.__version__}, "
    f"torch {torch.__version__.partition('+')[0]}",
    "command": "PYTHONPATH=tests:FOLDER python tests/data/golden/nv_embed.py",
    "texts": TEXTS,
    "ids": ids,
    "vectors": {name: [[round(x, 6) for x in row] for row in rows.tolist()] for name, rows in vectors.items()},
    "mean of states": [round(x, 6) for x in states.mean(dim=0).tolist()],
}
Path(__file__).with_suffix(".json").write_text(json.dumps(record) + "\n", encoding="utf-8")
