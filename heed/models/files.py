"""The files of a model: here, in the hub's cache, or fetched; whether its code may run; its family by its files."""

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from heed.downloads import fetching
from heed.errors import ModelError, fail, first_line
from heed.files import digest, read_bytes
from heed.models.pickles import converted, has_weights, lacks_safetensors
from heed.models.registry.entries import Model, near_entry, refuse_gguf
from heed.models.registry.families import BI_ENCODER, CROSS_ENCODER, ROWS, SPARSE, TABLE
from heed.progress import log, logging_only, warn
from heed.types import Config

# pickled weights only where these have none
FETCHED = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja", "*.metadata"]
CODE = "*.py"  # fetched only where the user lets it run
ADAPTER = "adapter_config.json"  # of PEFT
MODULES = "modules.json"  # of sentence-transformers: a list of objects
SAVED = "config_sentence_transformers.json"
# what transformers, tokenizers, sentence-transformers and PEFT read without checking; each is an object
OBJECTS = {
    *("config.json", "generation_config.json", ADAPTER, "model.safetensors.index.json"),
    "bert_config.json",
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *(SAVED, "sentence_bert_config.json"),
}
ROUTES = "router_config.json"  # of a model with other modules for queries than for documents
KINDS = (SAVED, MODULES, ROUTES)  # files that say what a model is
KINDS_OF_RAW = ("config.json", "README.md")  # and of one without modules
SCORES_WORDS, RAW = re.compile("SparseEncoder|sparse_encoder|splade", re.IGNORECASE), ("ForMaskedLM", "ForPreTraining")
# fields that decide no score: facts for people, and the user's permission
FACTS = (
    *("status", "pickled", "licence", "gated", "price", "search_price"),
    *("api", "needs", "note", "names", "presets", "trusted", "entry"),
)
UNSET = ("pair_length", "block", "window", "stride")  # no part of a fingerprint where an entry leaves them out
NAMING = ("config.json", "tokenizer_config.json", "processor_config.json", "modules.json")  # files that name classes
ELSEWHERE = re.compile(r'"([\w.-]+/[\w.-]+)--[\w.]+"')  # transformers' form for a class of another repository

TAPAS = "bert_config.json"  # of Google's own programs
OF_ADAPTERS = {"CAUSAL_LM": "causal", "SEQ_CLS": CROSS_ENCODER}  # task_type of an adapter of PEFT


def runs_remote_code(model: Model) -> bool:
    """Whether to run code of the model's repository; :class:`ModelError` where that is not allowed or not pinned."""
    if not model.remote_code:
        return False
    if not model.trusted:
        raise ModelError(
            f"{model.source}: runs code of its own repository; read it at revision {model.revision}, then allow it "
            "with trust_remote_code=True"
        )
    if not model.revision and not Path(model.source).is_dir():
        raise ModelError(f"{model.source}: no revision is pinned, so its code could change; pin one in an entry")
    return True


def local_copy(model: Model) -> Path:
    """Return the folder of the model's files as they are loaded: :func:`source_folder`, pickled weights converted.

    Raises :class:`ModelError` as it and :func:`heed.models.pickles.converted` do.
    """
    return converted(source_folder(model))


def source_folder(model: Model) -> Path:
    """Return the folder of the model's files as they came: the local path, or the hub's files fetched at most once.

    Only configuration, tokenizer and safetensors files are fetched, code where it may run, and pickled weights where
    there are no others. Raises :class:`ModelError` that says what to do when there is no such folder, the hub is out
    of reach or access must be granted first, and that names all files with unexpected content.
    """
    code = runs_remote_code(model)
    folder = (
        Path(model.source) if Path(model.source).is_dir() else _from_hub(model, [*FETCHED, CODE] if code else FETCHED)
    )
    if code:
        _refuse_code_elsewhere(folder)
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    refuse_gguf(model.source, map(str, paths))
    problems = (_problem(path, path.stat().st_mtime_ns) for path in paths)
    fail(filter(None, problems), ModelError)
    if not model.pooling and model.family in ("", BI_ENCODER, CROSS_ENCODER):
        _refuse_words(model, folder)
    return folder


def _refuse_words(model: Model, folder: Path) -> None:
    """Raise :class:`ModelError` for what scores words of a vocabulary: learned sparse as another family, or raw."""
    origin = sparse_origin(folder)
    if origin and model.family:
        raise ModelError(
            f"{model.source}: a model of learned sparse retrieval by its {origin}, no bi-encoder and no cross-encoder; "
            f"leave its family out, or say {SPARSE}"
        )
    if not origin and (kind := raw_kind(folder)):
        raise ModelError(
            f"{model.source}: a masked language model ({kind}), no bi-encoder and no cross-encoder; if it is SPLADE, "
            f"say the family {SPARSE}; if trained for vectors, give its pooling in a file of models: "
            f'{{"mine": {{"source": …, "pooling": "cls"}}}}'
        )


def raw_kind(folder: Path) -> str:
    """Return the class of a masked language model that sentence-transformers did not save, empty for others."""
    kind = "" if (folder / MODULES).is_file() else architecture_of(folder)
    return kind if kind.endswith(RAW) else ""


def sparse_origin(folder: Path) -> str:
    """Return the name of the file that shows a model of learned sparse retrieval, empty without one."""
    paths = (folder / name for name in (*KINDS, *(KINDS_OF_RAW if raw_kind(folder) else ())))
    texts = {path.name: path.read_text("utf-8", "replace") for path in paths if path.is_file()}
    return next((name for name, text in texts.items() if SCORES_WORDS.search(text)), "")


def architecture_of(folder: Path) -> str:
    """Return the class that config.json names first, empty without one."""
    names = read_object(folder / "config.json").get("architectures")
    return str(names[0]) if isinstance(names, list) and names else ""


def _refuse_code_elsewhere(folder: Path) -> None:
    """Raise :class:`ModelError` where a model's files name code of a hub repository: it would be fetched unpinned."""
    for path in (folder / name for name in NAMING):
        match = ELSEWHERE.search(path.read_text(encoding="utf-8")) if path.is_file() else None
        if match:
            raise ModelError(
                f"{path}: names code in the repository {match[1]}, which the model's revision does not pin; read it, "
                f"put its files beside a copy of the model, and take {match[1]}-- out of the copy's {path.name}"
            )


def read_object(path: Path) -> dict[str, Any]:
    """Return the object of a JSON file, empty without the file; :func:`source_folder` has checked that it is one."""
    content: dict[str, Any] = json.loads(read_bytes(path)) if path.is_file() else {}
    return content


@cache
def _problem(path: Path, changed: int) -> str:
    """Return the problem with a file of a model, an empty text if there is none; one that ``changed`` is read again."""
    from safetensors import SafetensorError, safe_open

    if path.suffix == ".safetensors":
        try:
            with safe_open(path, "numpy"):  # reads the header and the length that it says
                return ""
        except SafetensorError as error:
            return f"{path}: not whole safetensors ({error}); fetch the file again"
    if path.name not in {*OBJECTS, MODULES}:
        return ""
    try:
        content = json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        return f"{path}: not JSON ({error}); fetch the file again"
    expected, objects = ("a list of objects", content) if path.name == MODULES else ("an object", [content])
    if isinstance(objects, list) and all(isinstance(part, dict) for part in objects):
        return ""
    return f"{path}: found {type(content).__name__}, expected {expected}; fetch the file again"


def _from_hub(model: Model, patterns: list[str]) -> Path:
    from huggingface_hub import model_info, snapshot_download

    folder = in_cache(model.source, model.revision, patterns)
    if folder and (CODE not in patterns or any(folder.rglob(CODE))):  # it may have been fetched before without its code
        return folder
    if not folder:
        log.info(f"{model.source}: fetching it from the hub{near_entry(model.source)}")
    try:
        with fetching(model.source, "model"):
            # first, as the client's own listing is retried for 25 s where the hub is out of reach, and this is not
            files = model_info(model.source, revision=model.revision or "main").siblings or []
            get = partial(snapshot_download, model.source, revision=model.revision)
            refuse_gguf(model.source, names := [file.rfilename for file in files])
            pickles = lacks_safetensors(names)
            if pickles:  # first, so that a folder with all else is complete
                get(allow_patterns=pickles)
            return Path(get(allow_patterns=patterns))
    except ModelError:
        raise
    except Exception as error:  # the hub client raises its HTTP library's errors, which changed between releases
        problem = unusable(model.source, error)
        if model.gated and not model.base:  # an adapter's gate is its base's
            problem = ModelError(
                f"{problem}; access to it must be granted first: request it with your account at "
                f"https://huggingface.co/{model.source}, then log in with 'hf auth login' or set HF_TOKEN"
            )
        raise problem from error


def in_cache(source: str, revision: str | None, patterns: list[str]) -> Path | None:
    """Return the folder in the hub's cache with the files that ``patterns`` name and weights; None if some are missing.

    With the patterns: without the repository's other files a folder is incomplete to the hub's client.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    with suppress(LocalEntryNotFoundError):
        folder = Path(snapshot_download(source, revision=revision, allow_patterns=patterns, local_files_only=True))
        return folder if has_weights(folder) else None
    return None


def fingerprint(model: Model) -> Config:
    """Return the identity of a model for a ``config``: its settings, and the commit or the digests of its files.

    Of a model in a local folder the path is left out: another machine may have the same files elsewhere. Pickled
    weights are converted first, so that what is wrong with them is said before anything is computed.
    """
    settings = settings_of(model)
    if model.base and Path(model.base).is_dir():
        del settings["base"]
    folder = source_folder(model)
    converted(folder)
    if folder != Path(model.source):
        return {**settings, "commit": folder.name}
    del settings["source"]
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {**settings, "files": {str(path.relative_to(folder)): digest(path) for path in paths}}


def settings_of(model: Model) -> Config:
    """Return the fields of an entry that decide scores."""
    absent = {field for field in UNSET if getattr(model, field) is None}
    return {field: value for field, value in model._asdict().items() if field not in absent.union(FACTS)}


@contextmanager
def loading(source: str) -> Iterator[None]:
    """Load a model in the block without transformers' bars and report of weights, which :mod:`.weights` checks.

    Its errors become :class:`ModelError`.
    """
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]  # --quiet would not silence it
    try:
        with logging_only("transformers", logging.ERROR):
            yield
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        raise unusable(source, error) from error
    except Exception as error:
        if type(error) is Exception:  # of tokenizers, which has no class of its own
            raise unusable(source, error) from error
        raise


def unusable(source: str, error: Exception) -> ModelError:
    """Return the error for a model that cannot be loaded: why, and what to do without a network."""
    meant = near_entry(source).removeprefix("; ")
    advice = (
        f"{f'{meant} Else' if meant else 'check the name, or'} give the path of a local copy made with "
        f"'hf download {source} --local-dir DIR' on a machine that reaches the hub"
    )
    if Path(source).is_dir():
        advice = "expected a folder as save_pretrained writes it: config.json, weights and tokenizer"
    return ModelError(f"{source}: cannot be loaded as a model ({first_line(error)}); {advice}")


def with_family(model: Model, otherwise: str) -> Model:
    """Return ``model`` with a family: its own, else that of its files, else ``otherwise``.

    A guess is logged, what it was made from stands in ``guessed_from``; ``otherwise`` is a warning. The files
    are found, or fetched; raises as :func:`heed.models.files.source_folder` does.
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
    if (folder / ADAPTER).is_file():
        task = read_object(folder / ADAPTER).get("task_type")
        return OF_ADAPTERS.get(str(task), "peft"), f"{ADAPTER} (task_type {task})"
    if origin := sparse_origin(folder):
        return SPARSE, origin
    kind = read_object(folder / SAVED).get("model_type")
    if row := next((row for row in ROWS if kind in row.saved_as), None):
        return row.name, f"{SAVED} (model_type {kind})"
    if (folder / MODULES).is_file():  # sentence-transformers saved it before it wrote the kind of model
        types = [str(module["type"]) for module in json.loads(read_bytes(folder / MODULES))]
        is_pair = any(".cross_encoder." in kind for kind in types)
        return (CROSS_ENCODER, f"{MODULES} ({types[-1].rpartition('.')[2]})") if is_pair else (BI_ENCODER, MODULES)
    name = architecture_of(folder)
    endings = {ending: row.name for row in ROWS for ending in row.architectures if name.endswith(ending)}
    if endings:
        return endings[max(endings, key=len)], f"config.json ({name})"
    return (TABLE, f"{TAPAS} (several type_vocab_size)") if is_tapas(folder) else ("", "")


def is_tapas(folder: Path) -> bool:
    """Whether ``folder`` is one of Google's archives of a model that reads tables: it has types of columns and rows."""
    return isinstance(read_object(folder / TAPAS).get("type_vocab_size"), list)
