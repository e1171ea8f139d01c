"""Published rows again: the command of each system of a table, what is missing here, and a verdict on each figure."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

from heed.datasets.fetchable import holdings
from heed.datasets.followir import REPOSITORIES
from heed.datasets.followtable import local_subset
from heed.datasets.infosearch import DIMENSIONS
from heed.measures.significance import interval
from heed.measures.summary import Detail
from heed.measures.three_runs import GOLD_RANK
from heed.models.listing import missing as missing_parts
from heed.models.registry.entries import Model, Registry
from heed.published.beside import heed_condition, system_labels
from heed.published.figures import Figure, Paper, Table

AVERAGE = "average"
SUBSETS: Mapping[str, tuple[str, ...]] = {
    "followir": ("robust04", "news21", "core17"),
    "mfollowir": ("fas", "zho", "rus"),
    "followtable": ("WQT", "WTR", "TArX", "IndusTR"),
    "infosearch": DIMENSIONS,
    "modern": ("robust04", "news21", "core17"),
}
MEASURES = {"rank": GOLD_RANK, "Score": "score"}  # the papers' names: Heed's
PRESETS = {"modern": "evaluation"}  # a paper's preset, where it has another name than the paper
FIRST_STAGES = {"followtable": "Qwen/Qwen3-Embedding-0.6B", "infosearch": "intfloat/e5-mistral-7b-instruct"}
FIRST_STAGE_DEPTH = "100"
BY_TABLE = {  # tables whose figures no command gives, and why
    ("followir", "Table 3"): "the keywords of BEIR's ablation are not released",
    ("followir", "Table 4"): "InstructIR's rows have no command here; heed trec --dataset instructir measures it",
    ("modern", "Evaluation"): "which documents its first stage searched for the 100 candidates is not said",
    ("followtable", "Table 6"): "the 50 pairs and their trap tables are not released",
}
BYTES = 2  # a parameter in half precision
SLACK = 1.2  # memory beside the weights, by experience
BILLIONS = re.compile(r"(\d+(?:\.\d+)?)\s*b\b", re.IGNORECASE)
LARGE = 1.0  # billions of parameters; smaller models run without a GPU

Verdict = str  # equal, within, off, not run


class Task(NamedTuple):
    """A system of a published table on one subset, or on the average of all; with its group where two share a name.

    ``commands`` has the arguments of ``heed`` by subset; ``missing`` says what keeps them from running here.
    """

    table: str
    system: str
    subset: str
    setting: str
    model: str
    commands: dict[str, list[str]]
    missing: list[str]
    figures: list[Figure]

    @property
    def command(self) -> str:
        """The commands as a user types them, empty where there is none."""
        return " && ".join(f"heed {' '.join(arguments)}" for arguments in self.commands.values())


class Cell(TypedDict):
    """One figure reproduced: ``ours`` and ``published`` in the printed unit, ``ours`` None where nothing ran."""

    table: str
    system: str
    subset: str
    setting: str
    condition: str
    measure: str
    published: float
    ours: float | None
    verdict: Verdict
    command: str
    missing: list[str]


class Machine(NamedTuple):
    """What decides what can run here: the local copy of the data, if given, and the GPU's memory in GiB."""

    data: Path | None
    gpu_gib: float


def tasks(paper: Paper, tables: Iterable[Table], registry: Registry, machine: Machine) -> list[Task]:
    """Return a task for each system and subset of ``tables``; tables about the data have none."""
    key = paper.paper.key
    listed = []
    lacks: dict[str, list[str]] = {}
    for table in tables:
        groups: dict[tuple[str, str | None, str, str], list[Figure]] = {}
        for row in table.rows:
            if row.system:
                groups.setdefault((row.system, row.group, row.subset, row.setting or ""), []).append(row)
        labels = system_labels(row for row in table.rows if row.system)
        for (system, group, subset, setting), figures in groups.items():
            names = labels[group, system], subset, setting
            listed.append(_task(key, table, names, figures, registry, machine, lacks))
    return listed


def _task(
    paper: str,
    table: Table,
    names: tuple[str, str, str],
    figures: list[Figure],
    registry: Registry,
    machine: Machine,
    lacks: dict[str, list[str]],
) -> Task:
    system, subset, setting = names
    model = _with_preset(figures[0].model, paper, registry)
    missing = [BY_TABLE[paper, table.table]] if (paper, table.table) in BY_TABLE else []
    if model is None:
        missing.append("no entry of the registry")
    elif model not in lacks:
        lacks[model] = [] if model == "bm25" else _model_lacks(registry.find(model), machine.gpu_gib)
    subsets = SUBSETS[paper] if subset == AVERAGE else (subset,)
    commands: dict[str, list[str]] = {}
    if model and not missing:
        missing += lacks[model]
        for part in subsets:
            missing += _data_lacks(paper, part, setting, machine.data)
            commands[part] = _command(paper, table.table, part, setting, (model, figures[0]), machine.data)
        first = commands[subsets[0]]
        if "--rerank-depth" in first:
            stage = FIRST_STAGES[paper]
            missing += [f"first stage {stage}: {text}" for text in _model_lacks(registry.find(stage), machine.gpu_gib)]
    return Task(table.table, system, subset, setting, model or "", commands, list(dict.fromkeys(missing)), figures)


def _with_preset(model: str | None, paper: str, registry: Registry) -> str | None:
    """Return the registry's name of a published system, with the paper's preset where there is one."""
    if model is None or model == "bm25":
        return model
    name, at, _ = model.partition("@")
    entry = registry.entries.get(name)
    if entry is None:
        return None
    preset = PRESETS.get(paper, paper)
    return model if at or preset not in entry.presets else f"{model}@{preset}"


def _model_lacks(model: Model, gpu_gib: float) -> list[str]:
    if model.status == "named":
        return [f"weights: {model.note or 'none are public'}"]
    lacks = missing_parts(model)
    if model.gated and lacks:
        lacks.append(f"licence: accept {model.source}'s on the hub")
    billions = [float(number) for text in (model.source, model.base or "") for number in BILLIONS.findall(text)]
    needed = SLACK * BYTES * max(billions, default=0.0)
    if max(billions, default=0.0) > LARGE and needed > gpu_gib:
        have = f"found {gpu_gib:.0f} GB" if gpu_gib else "none found"
        lacks.append(f"GPU of {math.ceil(needed)} GB, by the size in its name; {have}")
    return lacks


def _data_lacks(paper: str, subset: str, setting: str, data: Path | None) -> list[str]:
    if data is not None:
        inside = data / subset
        return [] if inside.is_dir() or data.name == subset else [f"data: {inside} is no folder"]
    if setting == "full collection":
        return ["data: the whole TREC collection; name it with --docs"]
    if paper == "followtable":
        return [] if local_subset(subset) else [f"data: heed fetch followtable says how to get {subset}"]
    name = {"mfollowir": "mfollowir-crosslingual" if setting == "en-xx" else "mfollowir"}.get(
        paper, f"{paper}/{subset}"
    )
    [holding] = holdings(name, [subset] if paper == "mfollowir" else [])
    if any(repository.local_files() for repository in holding.repositories()):
        return []
    return [f"data: heed fetch {name}{f' --lang {subset}' if paper == 'mfollowir' else ''}"]


def _command(
    paper: str, table: str, subset: str, setting: str, system: tuple[str, Figure], data: Path | None
) -> list[str]:
    """Return the arguments of ``heed`` that run one system on one subset."""
    model, figure = system
    where = ["--data", str(data / subset if (data / subset).is_dir() else data)] if data else []
    alone = ["--retriever", model, "--reranker", "none"]
    if paper == "followtable":
        where = where or ["--subset", subset]
        return ["tables", *where, *(_reranked(paper, model) if table == "Table 5" and figure.group else alone)]
    if paper == "infosearch":
        retrieves = figure.group in (None, "Dense Retrieval")
        return ["infosearch", "--dimension", subset, *where, *(alone if retrieves else _reranked(paper, model))]
    if setting == "full collection":
        return ["trec", "--benchmark", f"followir/{subset}", *where, "--docs", "COLLECTION", *alone]
    candidates = ["--pool", "published", "--retriever", "none", "--reranker", "rank_bm25" if model == "bm25" else model]
    if paper == "followir":
        return ["trec", "--benchmark", f"followir/{subset}", *where, *candidates]
    english = ["--query-lang", "eng"] if setting == "en-xx" else []
    hub = REPOSITORIES["eng" if english else "native"]
    topics = ["--topics", where[1] if where else hub, "--topics-format", "mfollowir"]
    return ["neuclir", "--lang", subset, *topics, *english, *candidates]


def _reranked(paper: str, model: str) -> list[str]:
    return ["--retriever", FIRST_STAGES[paper], "--reranker", model, "--rerank-depth", FIRST_STAGE_DEPTH]


def cells(task: Task, results: Mapping[str, Sequence[Detail]]) -> list[Cell]:
    """Return a cell for each figure of ``task``; ``results`` are the details of each subset that ran.

    A subset's details may be of several systems: the last is the one asked for, after its first stage.
    """
    reproduced = []
    for figure in task.figures:
        values = [_values(figure, subset, results.get(subset, ())) for subset in task.commands]
        ours, verdict = _judged(figure, values) if values and all(values) else (None, "not run")
        missing = list(task.missing)
        if ours is None and not missing:
            missing = [f"the command gives no {figure.measure} of {figure.condition}"]
        reproduced.append(
            Cell(
                table=task.table,
                system=task.system,
                subset=task.subset,
                setting=task.setting,
                condition=figure.condition or "",
                measure=figure.measure,
                published=figure.value,
                ours=ours,
                verdict=verdict,
                command=task.command,
                missing=missing,
            )
        )
    return reproduced


def _values(figure: Figure, subset: str, details: Sequence[Detail]) -> list[float]:
    """Return the values of a figure by topic; FollowIR's Score is AP, or nDCG@5 on News21."""
    measure = MEASURES.get(figure.measure, figure.measure)
    if measure == "score":
        measure = "nDCG@5" if subset == "news21" else "AP"
    systems = list(dict.fromkeys(detail["system"] for detail in details))
    for detail in details:
        wanted = systems[-1], heed_condition(figure), measure
        if (detail["system"], detail["condition"], detail["measure"]) == wanted:
            return [detail["per_topic"][qid] for qid in sorted(detail["per_topic"])]
    return []


def _judged(figure: Figure, by_subset: Sequence[Sequence[float]]) -> tuple[float, Verdict]:
    """Return our figure in the printed unit, and whether it is the printed one.

    ``within``: the printed one lies in the 95% bootstrap interval over topics; of an average of subsets the
    intervals' half-widths are added in quadrature, as for independent means.
    """
    scale = 100 if figure.unit == "x100" else 1
    means = [math.fsum(values) / len(values) for values in by_subset]
    ours = scale * math.fsum(means) / len(means)
    digits = len(str(figure.value).partition(".")[2])
    if f"{ours:z.{digits}f}" == f"{figure.value:z.{digits}f}":
        return ours, "equal"
    intervals = [interval(values) for values in by_subset]
    below = math.hypot(*(centre - each.low for centre, each in zip(means, intervals, strict=True))) / len(means)
    above = math.hypot(*(each.high - centre for centre, each in zip(means, intervals, strict=True))) / len(means)
    half = 0.5 * 10**-digits
    within = ours - scale * below - half <= figure.value <= ours + scale * above + half
    return ours, "within" if within else "off"
