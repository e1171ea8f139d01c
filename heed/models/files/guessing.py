"""Which family a model is of where neither its entry nor the user says so: read from the files of its folder."""

import json
from pathlib import Path

from heed.files import read_bytes
from heed.models.files.model_files import architecture_of, read_object, source_folder
from heed.models.registry.entries import Model
from heed.models.registry.families import BI_ENCODER, CROSS_ENCODER, ROWS, TABLE
from heed.progress import log, warn

TAPAS = "bert_config.json"  # of Google's own programs
OF_ADAPTERS = {"CAUSAL_LM": "causal", "SEQ_CLS": CROSS_ENCODER}  # task_type of an adapter of PEFT


def with_family(model: Model, otherwise: str) -> Model:
    """Return ``model`` with a family: its own, else that of its files, else ``otherwise``.

    A guess is logged, what it was made from stands in ``guessed_from``; ``otherwise`` is a warning. The files
    are found, or fetched; raises as :func:`heed.models.files.model_files.source_folder` does.
    """
    if model.family:
        return model
    family, source = guess(model)
    if family:
        log.info(f"{model.source}: family {family}, guessed from {source}")
    else:
        family, source = otherwise, "its use"
        warn(f"{model.source}: its files do not tell its family; taken as {family} because it is used so")
    return model._replace(family=family, guessed_from=source)


def guess(model: Model) -> tuple[str, str]:
    """Return the family of a model without one, and the file and field that show it; two empty texts without."""
    if model.pooling is not None or model.similarity is not None:
        field = "pooling" if model.pooling is not None else "similarity"
        return BI_ENCODER, f"its entry, which has {field}"
    folder = source_folder(model)
    tables = (TABLE, f"{TAPAS} (several type_vocab_size)") if is_tapas(folder) else ("", "")
    return _adapter(folder) or _modules(folder) or _architecture(folder) or tables


def _adapter(folder: Path) -> tuple[str, str] | None:
    path = folder / "adapter_config.json"
    if not path.is_file():
        return None
    task = read_object(path).get("task_type")
    return OF_ADAPTERS.get(str(task), "peft"), f"adapter_config.json (task_type {task})"


def _modules(folder: Path) -> tuple[str, str] | None:
    """Read what sentence-transformers saved: the kind of model, else the modules after the transformer."""
    name = "config_sentence_transformers.json"
    kind = read_object(folder / name).get("model_type")
    for row in ROWS:
        if kind in row.saved_as:
            return row.name, f"{name} (model_type {kind})"
    path = folder / "modules.json"
    if not path.is_file():
        return None
    types = [str(module["type"]) for module in json.loads(read_bytes(path))]
    if any(".cross_encoder." in kind for kind in types):
        return CROSS_ENCODER, f"modules.json ({types[-1].rpartition('.')[2]})"
    return BI_ENCODER, "modules.json"


def _architecture(folder: Path) -> tuple[str, str] | None:
    name = architecture_of(folder)
    endings = {ending: row.name for row in ROWS for ending in row.architectures if name.endswith(ending)}
    return (endings[max(endings, key=len)], f"config.json ({name})") if endings else None


def is_tapas(folder: Path) -> bool:
    """Whether ``folder`` is one of Google's archives of a model that reads tables: it has types of columns and rows."""
    return isinstance(read_object(folder / TAPAS).get("type_vocab_size"), list)
