"""How soon a command with an encoder or a cross-encoder starts: the rows of :mod:`benchmarks.commands` for it.

Tiny models, four documents: until the first weights are opened, and the whole command.
``python -m benchmarks.starts FILE ARGUMENT…`` runs ``trec`` and writes to FILE when it opened them.
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

LIMIT = 4.0  # seconds
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
        started, whole = zip(*(_seconds(place, at, *systems) for at in range(repeat)), strict=True)
        limits = [(LIMIT, LIMIT)] * repeat
        what = f"{'encoder' if is_encoder else 'cross-encoder'} {kind}"
        yield Row(f"start, {what}: to its weights", f"a limit of {LIMIT:g} s", list(started), limits, 1, "")
        yield Row(f"start, {what}: the whole command", f"{LIMIT:g} s", list(whole), limits, None, "")


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
    from pipelines.trec import main

    sys.exit(main())
