"""Runs in files: made by a system, or reused where they were made with the same inputs and settings; their pools."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Self

from heed.datasets.collection import Collection
from heed.errors import DataError, UnknownError, did_you_mean, fail
from heed.experiment.runs import Run
from heed.files import digest, digest_json
from heed.formats.document_store import DocumentStore
from heed.formats.trec_files import as_tag, one_score, read_run, write_run
from heed.measures.summary import SystemEntry
from heed.notebook import html_table
from heed.progress import brief, log, replies, replying, timed, warn
from heed.ranking import pooled as fused_pool
from heed.ranking import top
from heed.reranking.rescore import PoolDocuments, rescore, unanswered
from heed.reuse import Note, Recipe, note_of, queries_digest, read_note, recipe_version, write_note
from heed.types import CONDITIONS, Config, Query, Reranker, Retriever, Topic
from heed.types import Run as PlainRun

Scores = Mapping[str, Mapping[str, float]]  # qid -> docid -> score
Destination = Callable[[Recipe, Recipe], Path]  # where a run is, or goes, by its recipe and the facts for its note
Lists = Callable[[Recipe, Mapping[str, str]], Scores]  # what earlier runs by a recipe have of queries, digests by topic
QUERIES = "queries"  # among the facts of a note: the digest of each topic's query
POOL = "pool.jsonl"
ASIDE = "earlier"  # in a folder of results, where runs go that others replace
OF_LISTS = ("depth", "pool")  # of a recipe: what says how long the lists are


class RunFile:
    """A run in a file, with its note; one that was reused is read when it is first needed."""

    def __init__(self, path: Path, note: Note | None = None) -> None:
        """Take the file at ``path``, which is about to be written or found to be the same as before."""
        self.path, self.note, self.reused = path, note or Note({}, {}), False
        self._run: PlainRun | None = None

    @property
    def sha256(self) -> str:
        """The SHA-256 of the file when it was written or found."""
        return self.note.files[self.path.name]

    def write(self, scores: Scores, tag: str) -> None:
        """Write the file, and hold what it says."""
        self._run = write_run(self.path, scores, tag)

    def read(self) -> PlainRun:
        """Return the run in the file; raises :class:`DataError` if something else is in it by now."""
        if self._run is None:
            if digest(self.path) != self.sha256:
                raise DataError(f"{self.path}: was changed since this experiment used it; retrieve or rerank again")
            # a run without any document is an empty file
            self._run = read_run(self.path, shared_ids=True) if self.path.stat().st_size else {}
        return self._run

    def as_run(self) -> Run:
        """Return the same as a user gets it, who may change it: it is what is read from now on."""
        run = self.read()
        self._run = run = run if isinstance(run, Run) else Run(run, self.path.name.removesuffix(".run"))
        return run


class SystemRuns(Mapping[str, Run]):
    """The runs of one system by condition; ``config`` is what a manifest says of it, None for runs made elsewhere."""

    def __init__(self, name: str, config: Config | None, files: Mapping[str, RunFile]) -> None:
        """Take the files by condition; whoever asks for a run may change it, so that it is not what its file says."""
        self.name, self.config, self._may_differ = name, config, False
        self.files = {condition: files[condition] for condition in CONDITIONS if condition in files}

    @classmethod
    def of_files(cls, name: str, files: Mapping[str, RunFile]) -> Self:
        """Return the runs of files, with what their notes say of the system."""
        notes = [file.note for file in files.values()]
        configs = [note.recipe.get("system") or note.facts.get("made_by") for note in notes]
        return cls(name, next(filter(None, configs), None), files)

    @property
    def entry(self) -> SystemEntry:
        """What the system rescored, and how many replies are no answers, as ``summary.json`` says it."""
        notes = [file.note for file in self.files.values()]

        def common(key: str) -> Any:
            values = [note.facts.get(key) or (note.recipe.get(key) if key in OF_LISTS else None) for note in notes]
            return values[0] if values and values.count(values[0]) == len(values) else None

        entry = SystemEntry(
            system=self.name,
            first_stages=common("first_stages"),
            depth=common("depth"),
            pool=common("pool"),
            documents=common("documents"),
            unanswered=sum(note.facts.get("unanswered", 0) for note in notes),
        )
        if self.kind and entry["pool"] is None:  # of runs made elsewhere
            del entry["pool"]
        return entry

    @property
    def kind(self) -> int:
        """0 of a first stage, 1 of a reranker, 2 of runs made elsewhere."""
        notes = [file.note for file in self.files.values()]
        if any("pool" in note.recipe or note.facts.get("pool") for note in notes):
            return 1
        return 0 if any("depth" in note.recipe or note.recipe.get("system") for note in notes) else 2

    def __getitem__(self, condition: str) -> Run:
        if condition not in self.files:
            meant = did_you_mean(condition, list(self.files)) or f"it has {', '.join(self.files)}"
            raise UnknownError(f"{self.name}: no run under {condition}; {meant}")
        run = self.files[condition].as_run()
        self._may_differ = True
        return run

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __repr__(self) -> str:
        """Return name and conditions: the runs themselves would fill a notebook."""
        return f"SystemRuns({self.name!r}: {', '.join(self)})"

    def _repr_html_(self) -> str:
        lines = [(condition, len(run), sum(map(len, run.values()))) for condition, run in self.contents().items()]
        return html_table(self.name, [("condition", "topics", "documents"), *lines], numbers=(1, 2))

    def contents(self) -> dict[str, PlainRun]:
        """Return the runs by condition, for a reader that changes none."""
        return {name: file.read() for name, file in self.files.items()}

    def digests(self) -> dict[str, str] | None:
        """Return the SHA-256 of each file by condition; None where a run may have been changed in memory."""
        return None if self._may_differ else {name: file.sha256 for name, file in self.files.items()}


def finished_note(path: Path) -> Note | None:
    """Return the note of a finished run, else one of the same run in ``earlier/``; None where there is none."""
    if not path.exists():
        return None
    notes = [note_of(path), *sorted(path.parent.glob(f"{ASIDE}/*/.made/{path.name}.json"))]
    files = {path.name: digest(path)}
    return next((note for note in map(read_note, notes) if note and note.finished and note.files == files), None)


def journal_of(path: Path) -> Path:
    """Return where the scores of a run that is being made at ``path`` are kept."""
    return note_of(path).with_suffix(".partial")


def run_to_file(path: Path, scores: Scores, name: str, recipe: Recipe, facts: Recipe) -> RunFile:
    """Write the run of a system that ran elsewhere to ``path``, with its note; return it."""
    file = RunFile(path)
    file.write(scores, as_tag(name))
    sha256 = digest(path)
    file.note = Note({"run": recipe_version("run"), **recipe, "scores": sha256}, {path.name: sha256}, facts)
    write_note(note_of(path), file.note)
    return file


def search_to_file(
    destination: Destination,
    earlier: Lists,
    retriever: Retriever,
    queries: Sequence[Query],
    depth: int,
    documents: str,
    left_out: AbstractSet[str],
) -> RunFile:
    """Write the ``depth`` best documents of each query where ``destination`` says, or use them again; return the run.

    ``documents`` is the digest of the collection's documents, ``left_out`` queries to leave out of their lists. Lists
    of ``earlier`` runs are taken where they are the same whatever is searched beside them.
    """
    own_ids = {"own ids left out": digest_json(sorted(left_out))} if left_out else {}
    recipe = _recipe(retriever, queries, {"depth": depth, "documents": documents, **own_ids})
    by_topic = {query.qid: queries_digest([query]) for query in queries} if retriever.by_topic else {}

    def search(_: Path) -> Scores:
        with timed("run", _label(retriever, queries)) as work:
            lists = dict(earlier(recipe, by_topic))
            changed = [query for query in queries if query.qid not in lists]
            work.did(len(changed), "topics")
            new = without_own(retriever.search(changed, depth + bool(left_out)), left_out)
            return lists | ({qid: top(scores, depth) for qid, scores in new.items()} if left_out else dict(new))

    facts = {QUERIES: by_topic} if by_topic else {}
    return _ensure(destination, retriever, queries, recipe, facts, search)


def rescore_to_file(
    destination: Destination,
    reranker: Reranker,
    queries: Sequence[Query],
    documents: PoolDocuments,
    facts: Recipe,
    tag: str = "",
    earlier: RunFile | None = None,
) -> RunFile:
    """Write the rescored pool of each query where ``destination`` says, or use it again; return the run.

    ``facts`` are of the pool. What a killed process has scored lies in ``.made`` beside the file, and is used if the
    inputs are the same. Scores in an ``earlier`` run of the same reranker over another pool are taken from there.
    """
    about = {"pool": documents.pool_digest, "documents": documents.digest, "tag": tag}
    recipe = _recipe(reranker, queries, about)
    known = _scored_before(earlier, reranker, queries, documents) if earlier else {}
    if known:
        count, label = sum(map(len, known.values())), _label(reranker, queries)
        log.info(
            f"{label}: {count:,} scores are those of its earlier run, whose batches were others: last digits differ"
        )
        facts = {**facts, "scores of an earlier run": count}

    def score(journal: Path) -> Scores:
        new = documents.without(known) if known else documents
        open_queries = [query for query in queries if new.docids(query) or query.qid not in known]
        run = rescore(reranker, open_queries, new, journal, documents.digest)
        return {query.qid: {**known.get(query.qid, {}), **run.get(query.qid, {})} for query in queries}

    return _ensure(destination, reranker, queries, recipe, facts, score)


def _scored_before(earlier: RunFile, reranker: Reranker, queries: Sequence[Query], documents: PoolDocuments) -> Scores:
    """Return by query the scores of documents in its pool that are in the ``earlier`` run; none if it is of this pool.

    Nor if it was made by other settings, or of other queries or documents.
    """
    of = earlier.note.recipe
    made_of = [of.get("run"), of.get("system"), of.get("topics"), of.get("documents")]
    same = [recipe_version("run"), reranker.config, queries_digest(queries), documents.digest]
    if digest_json(made_of) != digest_json(same) or of.get("pool") == documents.pool_digest:
        return {}
    run = earlier.read()
    return {
        query.qid: {docid: run[query.qid][docid] for docid in documents.docids(query) if docid in run[query.qid]}
        for query in queries
        if query.qid in run
    }


def _recipe(system: Retriever | Reranker, queries: Sequence[Query], about: Config) -> Recipe:
    """Return the recipe of a run; ``about`` is what it holds beside the system and its queries."""
    return {
        "run": recipe_version("run"),
        "system": system.config,
        "condition": queries[0].condition if queries else "",
        "topics": queries_digest(queries),
        **about,
    }


def _ensure(
    destination: Destination,
    system: Retriever | Reranker,
    queries: Sequence[Query],
    recipe: Recipe,
    facts: Recipe,
    make: Callable[[Path], Scores],
) -> RunFile:
    """Write the run of a system, or use it again; warn of topics without documents, equal scores and failed replies.

    ``make`` gets the path of a journal, which stays where such replies are asked for again: by the next call.
    """
    name, config, qids = _label(system, queries), system.config, [query.qid for query in queries]
    facts = facts if config else {**facts, "made_by": system.manifest_entry}
    file = RunFile(destination(recipe, facts))
    path, journal = file.path, journal_of(file.path)

    with replying() as gathered:
        note = finished_note(path) if config is not None and not journal.exists() else None
        file.reused = note is not None
        if note is None:
            note_of(path).unlink(missing_ok=True)  # of another run
            with timed("prepare", system.name):
                system.load()
            run = make(journal)
            count, warnings = unanswered(path.name, replies(), run)
            tag = recipe.get("tag") or as_tag(name)
            file.write({qid: scores for qid, scores in run.items() if scores}, tag)
            said = {"unanswered": count, "warnings": warnings + doubts(path.name, file.read(), qids)}
            note = Note(recipe, {path.name: digest(path)}, said | facts)
            write_note(note_of(path), note)
        file.note = note
    if not any(None in of_topic for of_topic in gathered.values()):
        journal.unlink(missing_ok=True)
    if "warnings" not in file.note.facts:  # of an earlier version
        said = {"unanswered": 0, "warnings": doubts(path.name, file.read(), qids)}
        file.note = file.note._replace(facts={**file.note.facts, **said})
        write_note(note_of(path), file.note)
    for warning in file.note.facts["warnings"]:
        warn(warning)
    return file


def doubts(source: str, run: Scores, qids: Sequence[str]) -> list[str]:
    """Return why the run of a file is doubtful: topics of ``qids`` without documents, and equal scores."""
    empty = [qid for qid in qids if not run.get(qid)]
    nothing = f"{source}: nothing found for {len(empty)} of {len(qids)} topics: {brief(empty)}"
    flat = one_score(source, run)
    return [nothing, *flat] if empty else flat


def _label(system: Retriever | Reranker, queries: Sequence[Query]) -> str:
    return f"{system.name}.{queries[0].condition}" if queries else system.name


def own_documents(topics: Sequence[Topic], store: DocumentStore, by_id: bool) -> AbstractSet[str]:
    """Return the queries that are documents: of the same id and, unless ``by_id``, the same title, text or both."""
    documents, left_out = store.find([topic.qid for topic in topics]), {}
    for topic in (topic for topic in topics if topic.qid in documents):
        query, title, text = (part.casefold().split() for part in (topic.query, *documents[topic.qid][1:3]))
        if by_id or query in (title, text, title + text):
            left_out[topic.qid] = topic
    if left_out:
        why = "by their ids, as in MTEB" if by_id else "id and text are a document's"
        log.info(
            f"{len(left_out)} queries left out of their lists, {why} (keep_own_id=True keeps them): "
            f"{brief([*left_out])}"
        )
    if len(left_out) < len(documents):
        log.info(f"{len(documents) - len(left_out)} queries have the id of a document with another text; it is kept")
    return left_out.keys()


def without_own(run: Scores, left_out: AbstractSet[str]) -> Scores:
    """Return the run without each query of ``left_out`` in its own list."""
    return {
        **run,
        **{qid: {docid: run[qid][docid] for docid in run[qid] if docid != qid} for qid in left_out & run.keys()},
    }


def pool_of_runs(systems: Sequence[SystemRuns], topics: Sequence[Topic], depth: int) -> dict[str, list[str]]:
    """Return for each topic the union of the runs' first ``depth`` documents, cut to ``depth`` by fusion."""
    base = {topic.qid: topic.base or topic.qid for topic in topics}  # the topic that asks the same query alone
    lists = (item for system in systems for run in system.contents().values() for item in run.items())
    pooled = fused_pool(({base[qid]: scores} for qid, scores in lists if qid in base), depth, depth)
    return {qid: pooled.get(base[qid], []) for qid in base}


def published_pool(collection: Collection, documents: DocumentStore) -> dict[str, list[str]]:
    """Return the published candidates of the topics; raise :class:`DataError` if there are none."""
    fail([] if collection.candidates else ["pool: these topics come without published candidate lists"])
    pooled = {}
    for topic in collection.topics:
        docids = collection.candidates.get(topic.qid, [])
        missing = set(documents.missing(docids))
        if missing:
            counted = f"{len(missing)} of {len(docids)} candidates"
            warn(f"topic {topic.qid}: {counted} are not in the collection, left out")
        pooled[topic.qid] = [docid for docid in docids if docid not in missing]
    return pooled
