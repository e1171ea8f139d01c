"""Record the vectors of InstructorEmbedding 1.0.1 on a tiny INSTRUCTOR, weights by arithmetic, in instructor.json.

    python tests/support/golden_models.py FOLDER
    uv venv v --python 3.11
    uv pip install --python v/bin/python torch==2.13.0 InstructorEmbedding==1.0.1 sentence-transformers==2.2.2 \
        transformers==4.46.3 'huggingface_hub<0.26' 'numpy<2' sentencepiece
    v/bin/python tests/data/golden/instructor.py FOLDER

The first command runs in Heed's environment. The tiny model's files are written again in the form
of sentence-transformers 2.2.2: the mean, a dense layer without bias and activation, unit length.
"""

import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
sys.path.remove(str(Path(__file__).parent))
from golden_texts import ASKED, DOCUMENTS
from InstructorEmbedding import INSTRUCTOR
from safetensors.torch import load_file

ASK, TELL = "Represent the question for retrieving supporting documents:", "Represent the document for retrieval:"
folder = Path(sys.argv[1]).with_name("instructor-4")
shutil.rmtree(folder, ignore_errors=True)
shutil.copytree(Path(sys.argv[1]) / "instructor", folder)
path = folder / "tokenizer_config.json"
names = {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": ["input_ids", "attention_mask"]}
weights = load_file(folder / "2_Dense" / "model.safetensors")
torch.save(weights, folder / "2_Dense" / "pytorch_model.bin")
dense = {"in_features": 32, "out_features": 16, "bias": False}
kinds = ("Transformer", "Pooling", "Dense", "Normalize")
places = ("", "1_Pooling", "2_Dense", "3_Normalize")
files = {
    "tokenizer_config.json": json.loads(path.read_text()) | names,
    "sentence_bert_config.json": {"max_seq_length": 512, "do_lower_case": False},
    "1_Pooling/config.json": {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True},
    "2_Dense/config.json": {**dense, "activation_function": "torch.nn.modules.linear.Identity"},
    "modules.json": [
        {"idx": at, "name": str(at), "path": place, "type": f"sentence_transformers.models.{kind}"}
        for at, (place, kind) in enumerate(zip(places, kinds, strict=True))
    ],
}
for name, content in files.items():
    (folder / name).write_text(json.dumps(content))
model = INSTRUCTOR(str(folder), device="cpu")
texts = [f"{title} {text}".strip() for title, text in DOCUMENTS.values()]
with torch.no_grad():
    asked = model.encode([[ASK, query] for query, _ in ASKED])
    told = model.encode([[instruction, query] for query, instruction in ASKED])
    found = model.encode([[TELL, text] for text in texts])
results = {
    "program": f"InstructorEmbedding {version('InstructorEmbedding')}",
    "beside": f"sentence-transformers {version('sentence-transformers')}, transformers {version('transformers')}",
    "script": "tests/data/golden/instructor.py",
    "bare": asked.tolist(),
    "asked": told.tolist(),
    "documents": found.tolist(),
}
path = Path(__file__).with_suffix(".json")
path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
