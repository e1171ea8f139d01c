"""The files of a model: here, in the hub's cache, or fetched; whose code may run; what identifies them."""

import json
from functools import cache, partial
from pathlib import Path
from typing import Any

from heed.errors import HeedError, fail
from heed.io.artifacts import Recipe
from heed.io.files import digest, read_bytes
from heed.models.hub_client import fetching
from heed.models.model_code import refuse_code_elsewhere
from heed.models.registry import Model
from heed.progress import log

FETCHED = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja", "*.metadata"]  # never pickled weights
CODE = "*.py"  # fetched only where the user lets it run
# what transformers, tokenizers, sentence-transformers and PEFT read without looking first; each is an object
OBJECTS = {
    *("config.json", "generation_config.json", "adapter_config.json", "model.safetensors.index.json"),
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("config_sentence_transformers.json", "sentence_bert_config.json"),
}
MODULES = "modules.json"  # of sentence-transformers: a list of objects
# what decides no score: facts for people
TOLD = ("status", "pickled", "licence", "gated", "price", "needs", "note", "names", "presets")
_remote_code = False


def allow_remote_code() -> None:
    """Let models that bring code run it, where their entry pins a revision."""
    global _remote_code
    _remote_code = True


def runs_remote_code(model: Model) -> bool:
    """Whether to run code of the model's repository; :class:`HeedError` where that is not allowed or not pinned."""
    if not model.remote_code:
        return False
    if not _remote_code:
        raise HeedError(
            f"{model.source}: runs code of its own repository; read it at revision {model.revision}, then allow it "
            "with --trust-remote-code"
        )
    if not model.revision and not Path(model.source).is_dir():
        raise HeedError(f"{model.source}: no revision is pinned, so its code could change; pin one with --models")
    return True


def local_copy(model: Model) -> Path:
    """The folder of the model's files: the local path, or the hub's files fetched at most once.

    Only configuration, tokenizer and safetensors files are fetched, and code where it may run. Raises
    :class:`HeedError` that says what to do when there is no such folder, the hub is out of reach or
    access must be granted first, and that names all files which are not what their name says.
    """
    code = runs_remote_code(model)
    folder = (
        Path(model.source) if Path(model.source).is_dir() else _from_hub(model, [*FETCHED, CODE] if code else FETCHED)
    )
    if code:
        refuse_code_elsewhere(folder)
    named = (path for path in sorted(folder.rglob("*")) if path.is_file())
    fail(problem for path in named if (problem := _problem(path, path.stat().st_mtime_ns)))
    return folder


@cache
def _problem(path: Path, changed: int) -> str:
    """What is wrong with a file of a model, empty if nothing is; one that ``changed`` since is read again."""
    if path.suffix == ".safetensors":
        return _weights_problem(path)
    if path.name not in {*OBJECTS, MODULES}:
        return ""
    try:
        found = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        return f"{path}: not JSON ({error}); fetch the file again"
    expected = _expected(path.name, found)
    return f"{path}: found {type(found).__name__}, expected {expected}; fetch the file again" if expected else ""


def _expected(name: str, found: Any) -> str:
    """What a JSON file should have held, empty if it does."""
    if name == MODULES:
        whole = isinstance(found, list) and all(isinstance(one, dict) and "type" in one for one in found)
        return "" if whole else "a list of objects with type and path"
    if not isinstance(found, dict):
        return "an object"
    whole = name != "tokenizer.json" or (isinstance(found.get("model"), dict) and "added_tokens" in found)
    return "" if whole else "an object with model and added_tokens"


def _weights_problem(path: Path) -> str:
    """What is wrong with weights: their head is read, and whether the rest is as long as it says."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy"):
            return ""
    except SafetensorError as error:
        return f"{path}: not whole safetensors ({error}); fetch the file again"


def _from_hub(model: Model, patterns: list[str]) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    get = partial(snapshot_download, model.source, revision=model.revision, allow_patterns=patterns)
    try:  # with the patterns: without the repository's other files a folder is not whole to the hub's client
        folder = Path(get(local_files_only=True))
        if CODE not in patterns or any(folder.rglob(CODE)):  # it may have been fetched before without its code
            return folder
    except LocalEntryNotFoundError:
        if model.pickled:
            raise HeedError(
                f"{model.source}: its weights on the hub are pickled, and a pickle can run code; load them once with "
                "transformers where that does no harm, save_pretrained(DIR), and give DIR"
            ) from None
        log.info(f"{model.source}: fetching it from the hub")
    try:
        with fetching(model.source, "model"):
            return Path(get())
    except Exception as error:  # the hub client raises its HTTP library's errors, which changed between releases
        if model.gated and not model.base:  # an adapter's gate is its base's
            raise _gate(model.source, error) from error
        raise unusable(model.source, error) from error


def fingerprint(model: Model) -> Recipe:
    """What identifies a model in a recipe: its entry, and the commit or the digests of its files."""
    settings = {field: value for field, value in model._asdict().items() if field not in TOLD}
    folder = local_copy(model)
    if folder != Path(model.source):
        return {**settings, "commit": folder.name}
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {**settings, "files": {str(path.relative_to(folder)): digest(path) for path in found}}


def unusable(source: str, error: Exception) -> HeedError:
    """The error for a model that cannot be loaded: why, and what to do without a network."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return HeedError(
        f"{source}: cannot be loaded as a model ({reason}); give the path of a local copy with safetensors weights, "
        f"made with 'hf download {source} --local-dir DIR' on a machine that reaches the hub"
    )


def _gate(source: str, error: Exception) -> HeedError:
    """The error for a model whose owner grants access to persons."""
    return HeedError(
        f"{unusable(source, error)}; access to it must be granted first: ask for it with your account at "
        f"https://huggingface.co/{source}, then log in with 'hf auth login' or set HF_TOKEN"
    )
