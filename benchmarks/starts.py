"""How soon a command with an encoder or a cross-encoder starts: the rows of :mod:`benchmarks.commands` for it.

Tiny models, four documents: until the first weights are opened, beside a script that imports sentence-transformers and
loads the same model; and the whole command. ``python -m benchmarks.starts FILE ARGUMENT…`` runs ``trec``,
``python -m benchmarks.starts FILE load CLASS FOLDER`` that script; both write to FILE when they opened the weights.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.table import Row, Seconds

MORE = 1.0  # seconds that a command may take more than the script
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
KEYS = {"num_key_value_heads": 2}  # of decoders
UNSET = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"))  # defaults no tiny model has
T5_SIZES = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4, "num_layers": 2}
ENCODERS = ("Bert", "XLMRoberta", "DistilBert", "MPNet", "ModernBert", "Mistral", "Qwen3", "T5")  # a row each
CLASSIFIERS = ("Bert", "ModernBert", "DebertaV2")
TEXTS = ["a river in the north", "numbers from one to twelve", "no more than a few words", "where rivers meet"]


def rows(place: Path, repeat: int) -> Iterator[Row]:
    """Yield two rows for each model, which is made in ``place``."""
    documents = [{"id": f"d{at}", "text": text} for at, text in enumerate(TEXTS)]
    (place / "docs.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    (place / "topics.tsv").write_text("1\ta river\n2\tnumbers of words\n")
    names = [(kind, "Model") for kind in ENCODERS] + [(kind, "ForSequenceClassification") for kind in CLASSIFIERS]
    for kind, head in names:
        folder = _model(place, kind, "EncoderModel" if kind == "T5" else head)
        is_encoder = (kind, head) in names[: len(ENCODERS)]
        systems = (str(folder), "none") if is_encoder else ("bm25", str(folder))
        class_name = "SentenceTransformer" if is_encoder else "CrossEncoder"
        started, whole, loaded = zip(
            *((*_seconds(place, at, *systems), _loading(place, class_name, folder)) for at in range(repeat)),
            strict=True,
        )
        limits = [(wall + MORE, processor + MORE) for wall, processor in loaded]
        what = f"{'encoder' if is_encoder else 'cross-encoder'} {kind}"
        yield Row(
            f"start, {what}: to its weights", f"loading it by itself, and {MORE:g} s", list(started), limits, 1, ""
        )
        yield Row(f"start, {what}: the whole command", "the same", list(whole), limits, None, "")


def _seconds(place: Path, at: int, retriever: str, reranker: str) -> tuple[Seconds, Seconds]:
    """Return the seconds of one command: until weights are opened, and whole."""
    mark, target = place / "opened.json", place / f"{Path(retriever).name}-{Path(reranker).name}-{at}"
    data = ("--docs", "docs.jsonl", "--topics", "topics.tsv", "--condition", "query", "--device", "cpu", "--quiet")
    folders = ("--out", str(target / "runs"), "--indexes", str(target / "indexes"))
    command = [sys.executable, "-m", "benchmarks.starts", str(mark), *data, *folders]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    subprocess.run(  # noqa: S603 (our own module)
        [*command, "--retriever", retriever, "--reranker", reranker],
        cwd=place, env=environment, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    wall, after = time.time() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    opened, processor = json.loads(mark.read_text())
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (opened - begin, processor), (wall, whole)


def _loading(place: Path, class_name: str, folder: Path) -> Seconds:
    """Return the seconds until a script that loads the model by sentence-transformers opened its weights."""
    mark = place / "loaded.json"
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
    begin = time.time()
    subprocess.run(  # noqa: S603 (our own module)
        [sys.executable, "-m", "benchmarks.starts", str(mark), "load", class_name, str(folder)],
        cwd=place, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    opened, processor = json.loads(mark.read_text())
    return opened - begin, processor


def _model(place: Path, kind: str, head: str) -> Path:
    """Return the folder of a network of transformers with random weights."""
    import torch
    import transformers

    from benchmarks.neural_models import word_pieces

    folder, tokenizer = place / f"{kind}{head}", word_pieces(TEXTS)
    sizes: dict[str, Any] = {
        **(T5_SIZES if kind == "T5" else {**SIZES, **KEYS, **UNSET}),
        "vocab_size": len(tokenizer),
        "pad_token_id": 0,
    }
    labels = {"num_labels": 1} if head.startswith("For") else {}
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**sizes, **labels)
    getattr(transformers, f"{kind}{head}")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _mark(file: Path) -> None:
    """Write the time, and this process's processor time, when weights are opened for torch for the first time."""
    import safetensors

    opened = safetensors.safe_open

    def opening(path: Any, framework: str, *others: Any, **named: Any) -> Any:
        if framework == "pt" and not file.exists():
            file.write_text(json.dumps([time.time(), time.process_time()]))
        return opened(path, framework, *others, **named)

    file.unlink(missing_ok=True)
    safetensors.safe_open = opening


if __name__ == "__main__":
    _mark(Path(sys.argv.pop(1)))
    if sys.argv[1] == "load":
        import sentence_transformers

        getattr(sentence_transformers, sys.argv[2])(sys.argv[3], device="cpu")
        sys.exit()
    from pipelines.trec import main

    sys.exit(main())
