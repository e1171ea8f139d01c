"""Runs in files: made by a system, or reused where they were made with the same inputs and settings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from heed.datasets.own_ids import Scores, without_own
from heed.errors import DataError
from heed.experiment.runs import Run
from heed.files import digest, digest_json
from heed.formats.run_warnings import one_score
from heed.formats.trec_files import as_tag, read_run, write_run
from heed.notebook import html_table
from heed.progress import brief, replies, replying, timed, warn
from heed.ranking import top
from heed.reranking.rescore import PoolDocuments, rescore, unanswered
from heed.reuse import ensure_file, note_of, recipe_version
from heed.types import Config, Query, Reranker, Retriever, config_of, load


class RunFile:
    """A run in a file; one that was reused is read when it is first needed."""

    def __init__(self, path: Path) -> None:
        """Take the file at ``path``, which is about to be written or found to be the same as before."""
        self.path, self.reused, self.sha256, self.unanswered = path, False, "", 0
        self._run: Run | None = None

    def write(self, scores: Scores, tag: str) -> None:
        """Write the file, and hold what it says."""
        self._run = self._named(write_run(self.path, scores, tag))

    def read(self) -> Run:
        """Return the run in the file; raises :class:`DataError` if something else is in it by now."""
        if self._run is None:
            if digest(self.path) != self.sha256:
                raise DataError(f"{self.path}: was changed since this experiment used it; retrieve or rerank again")
            # a run without any document is an empty file
            self._run = self._named(read_run(self.path) if self.path.stat().st_size else {})
        return self._run

    def _named(self, scores: Scores) -> Run:
        return Run(scores, self.path.name.removesuffix(".run"))


class SystemRuns(Mapping[str, Run]):
    """The runs of one system by condition; ``config`` is what a manifest says of it, None for runs made elsewhere."""

    def __init__(self, name: str, config: Config | None, files: Mapping[str, RunFile]) -> None:
        """Take the files by condition; whoever asks for a run may change it, so that it is not what its file says."""
        self.name, self.config, self._files = name, config, dict(files)
        self._may_differ, self.unanswered = False, sum(file.unanswered for file in files.values())

    def __getitem__(self, condition: str) -> Run:
        """Return the run of a condition."""
        run = self._files[condition].read()
        self._may_differ = True
        return run

    def __iter__(self) -> Iterator[str]:
        """Yield the conditions."""
        return iter(self._files)

    def __len__(self) -> int:
        """Return the number of conditions."""
        return len(self._files)

    def __repr__(self) -> str:
        """Return name and conditions: the runs themselves would fill a notebook."""
        return f"SystemRuns({self.name!r}: {', '.join(self)})"

    def _repr_html_(self) -> str:
        lines = [(condition, len(run), sum(map(len, run.values()))) for condition, run in self.contents().items()]
        return html_table(self.name, [("condition", "topics", "documents"), *lines], numbers=(1, 2))

    def contents(self) -> dict[str, Run]:
        """Return the runs by condition, for a reader that changes none."""
        return {name: file.read() for name, file in self._files.items()}

    def digests(self) -> dict[str, str] | None:
        """Return the SHA-256 of each file by condition; None where a run may have been changed in memory."""
        return None if self._may_differ else {name: file.sha256 for name, file in self._files.items()}


def digests_of(systems: Sequence[SystemRuns]) -> dict[str, dict[str, str]] | None:
    """Return the SHA-256 of each run's file by system and condition; None unless all runs are as their files are."""
    digests = {system.name: system.digests() for system in systems}
    known = {name: of_system for name, of_system in digests.items() if of_system is not None}
    return known if len(known) == len(digests) else None


def run_to_file(path: Path, scores: Scores, tag: str) -> RunFile:
    """Return the run of a system that ran elsewhere, written to ``path``."""
    file = RunFile(path)
    file.write(scores, tag)
    file.sha256 = digest(path)
    return file


def search_to_file(
    path: Path, retriever: Retriever, queries: Sequence[Query], depth: int, documents: str, left_out: AbstractSet[str]
) -> RunFile:
    """Return the ``depth`` best documents of each query, written to ``path`` or reused.

    ``documents`` is the digest of the collection's documents, ``left_out`` queries to leave out of their lists.
    """

    def search(_: Path) -> Scores:
        with timed("run", _label(retriever, queries)) as work:
            work.did(len(queries), "topics")
            lists = without_own(retriever.search(queries, depth + bool(left_out)), left_out)
            return {qid: top(scores, depth) for qid, scores in lists.items()} if left_out else lists

    own_ids = {"own ids left out": digest_json(sorted(left_out))} if left_out else {}
    return _ensure(path, retriever, queries, {"depth": depth, "documents": documents, **own_ids}, search)


def rescore_to_file(
    path: Path, reranker: Reranker, queries: Sequence[Query], documents: PoolDocuments, tag: str = ""
) -> RunFile:
    """Return the rescored pool of each query, written to ``path`` or reused.

    What a killed process has scored lies in ``.made`` beside the file, and is used if the inputs are the same.
    """
    recipe: Config = {"pool": digest_json(documents.pool), "documents": documents.digest, "tag": tag}

    def score(journal: Path) -> Scores:
        return rescore(reranker, queries, documents, journal, documents.digest)

    return _ensure(path, reranker, queries, recipe, score)


def _ensure(
    path: Path, system: Retriever | Reranker, queries: Sequence[Query], recipe: Config, make: Callable[[Path], Scores]
) -> RunFile:
    """Return the run; warn where a topic has no documents, one score for all, or a reply that is no answer.

    ``make`` gets the path of a journal, which stays where such replies are asked for again: by the next call.
    """
    name, config = _label(system, queries), config_of(system)
    condition = queries[0].condition if queries else ""
    made_of = {
        "run": recipe_version("run"),
        "system": config,
        "condition": condition,
        "topics": digest_json(queries),
        **recipe,
    }
    file, journal = RunFile(path), note_of(path).with_suffix(".partial")

    def doubts() -> list[str]:
        empty = [query.qid for query in queries if query.qid not in file.read()]
        nothing = f"{path.name}: nothing found for {len(empty)} of {len(queries)} topics: {brief(empty)}"
        flat = one_score(path.name, file.read())
        return [nothing, *flat] if empty else flat

    def build() -> Config:
        with timed("prepare", system.name):
            load(system)
        run = make(journal)
        count, warnings = unanswered(path.name, replies(), run)
        tag = recipe.get("tag") or as_tag(name)
        file.write({qid: scores for qid, scores in run.items() if scores}, tag)
        return {"unanswered": count, "warnings": warnings + doubts()}

    with replying() as gathered:
        reuse = config is not None and not journal.exists()
        file.reused, file.sha256, facts = ensure_file(path, made_of, build, reuse)
    if not any(None in of_topic for of_topic in gathered.values()):
        journal.unlink(missing_ok=True)
    file.unanswered = facts.get("unanswered", 0)
    for warning in facts["warnings"] if "warnings" in facts else doubts():  # of an earlier version
        warn(warning)
    return file


def _label(system: Retriever | Reranker, queries: Sequence[Query]) -> str:
    return f"{system.name}.{queries[0].condition}" if queries else system.name
