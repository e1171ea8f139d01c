"""Record what TART's own program computes from the tiny weights of ``tests/support/tiny_published_models.py``.

    python -m pip install torch==2.13.0 transformers==4.42.4 numpy==1.26.4 sentencepiece protobuf
    PYTHONPATH=tests:FOLDER python tests/data/golden/tart_full.py

FOLDER/enc_t5 holds modeling_enc_t5.py and tokenization_enc_t5.py of facebookresearch/tart (TART/src) at
1dbf2803ff1aa437e9917dc3e72684adfc7d30d9 and an empty __init__.py.
"""

import json
import tempfile
from pathlib import Path

import torch
import transformers
from enc_t5.modeling_enc_t5 import EncT5ForSequenceClassification
from enc_t5.tokenization_enc_t5 import EncT5Tokenizer
from tiny_published_models import enc_t5

INSTRUCTIONS = ["where do they end", "Plants in Africa are relevant."]
DOCUMENTS = ["cats", "news on the river, and a desert", "12 plants", "solar power " * 40]

folder = enc_t5(Path(tempfile.mkdtemp()))
model = EncT5ForSequenceClassification.from_pretrained(folder).eval()
tokenizer = EncT5Tokenizer.from_pretrained(folder)
chances, ids = [], []
for instruction in INSTRUCTIONS:
    query = f"{instruction} [SEP] which rivers"
    features = tokenizer(
        [query] * len(DOCUMENTS), DOCUMENTS, padding=True, truncation="only_second", max_length=60, return_tensors="pt"
    )
    with torch.no_grad():
        chances.append(model(**features).logits.double().softmax(dim=1)[:, 1].tolist())
    ids.append([row[mask.bool()].tolist() for row, mask in zip(*features.values(), strict=True)])
record = {
    "program": f"facebookresearch/tart's modeling_enc_t5.py, transformers {transformers.__version__}, "
    f"torch {torch.__version__.partition('+')[0]}",
    "command": "PYTHONPATH=tests:FOLDER python tests/data/golden/tart_full.py",
    "query": "which rivers",
    "instructions": INSTRUCTIONS,
    "documents": DOCUMENTS,
    "max_length": 60,
    "ids": ids,
    "chances": chances,
}
Path(__file__).with_suffix(".json").write_text(json.dumps(record) + "\n", encoding="utf-8")
