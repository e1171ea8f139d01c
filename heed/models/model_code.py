"""Where the code of a model's repository lies: only what the pinned revision holds may run."""

import re
from pathlib import Path

from heed.errors import HeedError

NAMING = ("config.json", "tokenizer_config.json", "processor_config.json", "modules.json")  # files that name classes
ELSEWHERE = re.compile(r'"([\w.-]+/[\w.-]+)--[\w.]+"')  # transformers' form for a class of another repository


def refuse_code_elsewhere(folder: Path) -> None:
    """Raise :class:`HeedError` where a model's files name code of a hub repository: loading would fetch it unpinned."""
    for path in (folder / name for name in NAMING):
        found = ELSEWHERE.search(path.read_text(encoding="utf-8")) if path.is_file() else None
        if found:
            raise HeedError(
                f"{path}: names code in the repository {found[1]}, which the model's revision does not pin; read it, "
                f"put its files beside a copy of the model, and take {found[1]}-- out of the copy's {path.name}"
            )
