"""mFollowIR in its hub layout: topics, both instructions, both qrels and the candidate lists."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.documents import read_parquet
from pipelines.errors import HeedError, fail
from pipelines.measures import no_longer_relevant
from pipelines.models import quiet_hub
from pipelines.mteb_results import TASKS
from pipelines.progress import say
from pipelines.topics import Topic, read_objects
from pipelines.trec import Qrels

REVISIONS = {  # those that MTEB evaluates
    "jhu-clsp/mFollowIR-parquet-mteb": TASKS["mFollowIR"].revision,
    "jhu-clsp/mFollowIR-cross-lingual-parquet-mteb": TASKS["mFollowIRCrossLingual"].revision,
}
SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz")
ENDINGS = {"-og": "original", "-changed": "changed"}


class MFollowIR(NamedTuple):
    """One language of mFollowIR; ``candidates`` are the published lists, by condition-free qid."""

    topics: list[Topic]
    qrels: dict[str, Qrels]
    candidates: dict[str, list[str]]
    corpus: list[Path]


def is_mfollowir(folder: Path, lang: str) -> bool:
    """Whether ``folder`` holds mFollowIR's configs for ``lang``."""
    return folder.is_dir() and bool(_config_files(folder, f"instruction-{lang}"))


def read_mfollowir(folder: Path, lang: str, query_lang: str) -> MFollowIR:
    """Read the configs of ``lang`` from a local copy (Parquet or JSONL, a folder or file a config).

    Raises :class:`HeedError` for a missing config, a query without its instruction, or an id that
    ends neither ``-og`` nor ``-changed``. Differences between ``qrel_diff`` and the two qrels, and
    candidates, are told on stderr, not fatal.
    """
    queries = {row["_id"]: row["text"] for row in _rows(folder, f"queries-{lang}")}
    instructions = {row["query-id"]: row["instruction"] for row in _rows(folder, f"instruction-{lang}")}
    fail(f"{folder}: query {qid} has no row in instruction-{lang}" for qid in queries if qid not in instructions)
    topics: dict[str, Topic] = {}
    for full, query in queries.items():
        qid, condition = _split(folder, full)
        topic = topics.setdefault(qid, Topic(qid, query_lang, query.strip(), {}))
        topic.instructions[condition] = instructions[full].strip()
    qrels: dict[str, Qrels] = {"original": defaultdict(dict), "changed": defaultdict(dict)}
    for row in _rows(folder, f"default-{lang}", f"qrels-{lang}"):
        qid, condition = _split(folder, row["query-id"])
        qrels[condition][qid][row["corpus-id"]] = int(row["score"])
    _check_difference(folder, lang, qrels)
    candidates: dict[str, dict[str, None]] = defaultdict(dict)
    for row in _rows(folder, f"top_ranked-{lang}"):
        candidates[_split(folder, row["query-id"])[0]].update(dict.fromkeys(row["corpus-ids"]))
    corpus = _config_files(folder, f"corpus-{lang}")
    fail([] if corpus else [f"{folder}: no corpus-{lang}; expected Parquet or JSONL files of that name"])
    return MFollowIR(list(topics.values()), qrels, {q: list(ids) for q, ids in candidates.items()}, corpus)


def download(repository: str, lang: str) -> Path:
    """A local copy of one language of a hub data set, fetched at most once, at the revision MTEB evaluates.

    Raises :class:`HeedError` that says how to go on when the hub is out of reach.
    """
    from huggingface_hub import snapshot_download

    try:
        patterns = [f"*-{lang}/*", f"*-{lang}.*"]
        with quiet_hub():
            return Path(
                snapshot_download(
                    repository, repo_type="dataset", revision=REVISIONS.get(repository), allow_patterns=patterns
                )
            )
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise HeedError(
            f"{repository}: cannot be fetched from the hub ({reason}); on a machine with a network run "
            f"'hf download --repo-type dataset {repository}', copy the folder here and give its path"
        ) from error


def _check_difference(folder: Path, lang: str, qrels: dict[str, Qrels]) -> None:
    """Tell where the published ``qrel_diff`` and the difference of the two qrels disagree."""
    published = {row["query-id"]: set(row["corpus-ids"]) for row in _rows(folder, f"qrel_diff-{lang}")}
    computed = no_longer_relevant(qrels["original"], qrels["changed"])
    differ = [qid for qid in sorted(published.keys() | computed.keys()) if published.get(qid) != computed.get(qid)]
    if differ:
        say(f"{folder}: qrel_diff-{lang} and the qrels disagree on {len(differ)} topics, the qrels are used: {differ}")


def _split(folder: Path, full: str) -> tuple[str, str]:
    for ending, condition in ENDINGS.items():
        if full.endswith(ending):
            return full.removesuffix(ending), condition
    raise HeedError(f"{folder}: query id {full!r} ends neither -og nor -changed")


def _config_files(folder: Path, config: str) -> list[Path]:
    inside = sorted((folder / config).glob("*")) if (folder / config).is_dir() else []
    return [path for path in [*inside, *sorted(folder.glob(f"{config}.*"))] if path.name.endswith(SUFFIXES)]


def _rows(folder: Path, *configs: str) -> Iterator[dict[str, Any]]:
    files = [path for config in configs for path in _config_files(folder, config)]
    fail([] if files else [f"{folder}: no {' or '.join(configs)}; expected Parquet or JSONL files of that name"])
    for path in files:
        if path.suffix == ".parquet":
            yield from read_parquet(path)
        else:
            yield from (record for _, record in read_objects(path))
