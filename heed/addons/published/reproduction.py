"""Published rows again: how each system of a table runs, what is missing here, and a verdict on each figure.

The figures stand beside the printed ones, as data.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from heed.addons.published.figures import Figure, Paper, PaperTable
from heed.addons.published.standings import heed_condition, system_labels
from heed.datasets import irds_home
from heed.datasets.fetchable import holdings
from heed.datasets.followir import CROSS_LINGUAL
from heed.datasets.followtable import local_subset
from heed.measures.pairwise import GOLD_RANK
from heed.measures.significance import interval
from heed.measures.summary import Detail
from heed.models.listing import missing as missing_parts
from heed.models.registry.entries import Registry

AVERAGE = "average"
NO_ENTRY = "no entry of the registry"
BYTES = 2  # a parameter in half precision
SLACK = 1.2  # memory beside the weights, by experience
BILLIONS = re.compile(r"(\d+(?:\.\d+)?)\s*b\b", re.IGNORECASE)
FIRST_STAGE_DEPTH = 100
LARGE = 1.0  # billions of parameters; smaller models run without a GPU
OF_MTEB = ("nDCG@10", "nDCG@20", "R@100")  # its measures, which its collections have beside their own
MEASURES = {"rank": GOLD_RANK, "Score": "score"}  # the papers' names: Heed's

ReproducedFigure = dict[str, Any]  # for JSON, as :func:`cells` says


class Setting(NamedTuple):
    """How a system of a paper runs on one subset: a collection of :func:`heed.load` with its arguments, and systems.

    ``model`` reranks the best of ``first_stage``, or the published candidates; else it searches. ``whole`` is whether
    it searches the whole TREC collection, which a user names. ``measures`` come beside the collection's own. Without a
    ``collection`` it is the one in ``data``.
    """

    collection: str
    model: str
    first_stage: str = ""
    candidates: bool = False
    whole: bool = False
    lang: str | None = None
    subset: str | None = None
    dimension: str | None = None
    data: Path | None = None
    measures: tuple[str, ...] = ()

    @property
    def reranker(self) -> str:
        """The model as a reranker, empty where it searches; BM25 weighs candidates by all of them."""
        if not (self.first_stage or self.candidates):
            return ""
        return "rank_bm25" if self.model == "bm25" else self.model


class PlannedRow(NamedTuple):
    """A system of a published table on one subset, or on the average of all; with its group where two share a name.

    ``settings`` are by subset; ``missing`` says what keeps them from running here.
    """

    table: str
    system: str
    subset: str
    setting: str
    model: str
    settings: dict[str, Setting]
    missing: list[str]
    figures: list[Figure]


def tasks(
    paper: Paper, tables: Iterable[PaperTable], registry: Registry, data: Path | None, gpu_gib: float
) -> list[PlannedRow]:
    """Return a task for each system and subset of ``tables``; tables about the data have none.

    ``data`` is the local copy of the paper's data, if there is one, and ``gpu_gib`` the GPU's memory in GiB.
    """
    key, reproduction = paper.paper.key, paper.reproduction
    listed = []
    for table in tables:
        groups: dict[tuple[str, str | None, str, str], list[Figure]] = {}
        for row in table.rows:
            if row.system:
                groups.setdefault((row.system, row.group, row.subset, row.setting or ""), []).append(row)
        labels = system_labels(row for row in table.rows if row.system)
        without_command = reproduction.without_command.get(table.table, "")
        for (system, group, subset, setting), figures in groups.items():
            model = _with_preset(figures[0].model, reproduction.preset or key, registry)
            parts = reproduction.subsets if subset == AVERAGE else (subset,)
            settings: dict[str, Setting] = {}
            missing = [*filter(None, [without_command, "" if model else NO_ENTRY])]
            if model and not missing:
                settings = {part: setting_of(paper, table.table, part, model, figures[0], data) for part in parts}
                missing = _missing(key, settings, registry, gpu_gib)
            about = table.table, labels[group, system], subset, setting, model or ""
            listed.append(PlannedRow(*about, settings, missing, figures))
    return listed


def _missing(paper: str, settings: Mapping[str, Setting], registry: Registry, gpu_gib: float) -> list[str]:
    """Return the parts of a system and of the data of its subsets that are missing here."""
    system = next(iter(settings.values()))
    missing = _of_model(system.model, registry, gpu_gib)
    for subset, setting in settings.items():
        missing += _of_data(paper, subset, setting)
    first = _of_model(system.first_stage, registry, gpu_gib)
    missing += [f"first stage {system.first_stage}: {text}" for text in first]
    return list(dict.fromkeys(missing))


def _with_preset(model: str | None, preset: str, registry: Registry) -> str | None:
    """Return the registry's name of a published system, with the paper's ``preset`` where there is one."""
    if model is None or model == "bm25":
        return model
    name, separator, _ = model.partition("@")
    entry = registry.entries.get(name)
    if entry is None:
        return None
    return model if separator or preset not in entry.presets else f"{model}@{preset}"


def _of_model(name: str, registry: Registry, gpu_gib: float) -> list[str]:
    """Return the parts of a model of the registry that are missing here."""
    if name in ("bm25", ""):
        return []
    model = registry.find(name)
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


def _of_data(paper: str, subset: str, setting: Setting) -> list[str]:
    """Return the line that says how to get a subset of a paper's data; none where it is here."""
    if setting.whole:
        return ["data: the whole TREC collection; name its documents"]
    if setting.data:
        return [] if setting.data.name == subset else [f"data: {setting.data / subset} is no folder"]
    if paper == "mteb":
        fetched = (irds_home() / "beir" / subset).is_dir()
        return [] if fetched else [f"data: ir_datasets fetches {setting.collection}; or name a folder in BEIR's layout"]
    if paper == "followtable":
        return [] if local_subset(subset) else [f"data: heed fetch followtable says how to get {subset}"]
    name = setting.collection if setting.lang else f"{paper}/{subset}"
    [holding] = holdings(name, [setting.lang] if setting.lang else [])
    if any(repository.local_files() for repository in holding.repositories()):
        return []
    return [f"data: heed fetch {name}{f' says how to get {setting.lang}' if setting.lang else ''}"]


def setting_of(paper: Paper, table: str, subset: str, model: str, figure: Figure, data: Path | None) -> Setting:
    """Return how a paper's system runs on one subset."""
    key, stage = paper.paper.key, paper.reproduction.first_stage
    if data and (data / subset).is_dir():
        data = data / subset
    if key == "followtable":
        stage = stage if table == "Table 5" and figure.group else ""
        return Setting(key, model, stage, subset=None if data else subset, data=data)
    if key == "infosearch":
        stage = "" if figure.group in (None, "Dense Retrieval") else stage
        return Setting(key, model, stage, dimension=subset, data=data)
    if key == "mteb":
        dataset = "" if data else f"beir/{subset}{'' if subset == 'arguana' else '/test'}"
        return Setting(dataset, model, data=data, measures=OF_MTEB)
    if figure.setting == "full collection":
        return Setting(f"followir/{subset}", model, whole=True, data=data)
    if key == "followir":
        return Setting(f"followir/{subset}", model, candidates=True, data=data)
    collection = CROSS_LINGUAL if figure.setting == "en-xx" else "mfollowir"
    return Setting(collection, model, candidates=True, lang=subset, data=data)


def cells(task: PlannedRow, results: Mapping[str, Sequence[Detail]], command: str = "") -> list[ReproducedFigure]:
    """Return a cell for each figure of ``task``, which ``command`` runs; ``results`` are details by subset.

    ``ours`` and ``published`` are in the printed unit, ``ours`` None where nothing ran; the ``verdict`` is equal,
    within, off or not run. A subset's details may be of several systems: the last is the one asked for, after its first
    stage.
    """
    reproduced = []
    for figure in task.figures:
        values = [_values(figure, subset, results.get(subset, ())) for subset in task.settings]
        ours, verdict = _judged(figure, values) if values and all(values) else (None, "not run")
        missing = list(task.missing)
        if ours is None and not missing:
            missing = [f"the command gives no {figure.measure} of {figure.condition}"]
        about = {"table": task.table, "system": task.system, "subset": task.subset, "setting": task.setting}
        about |= {"condition": figure.condition or "", "measure": figure.measure}
        values_of = {"published": figure.value, "ours": ours, "verdict": verdict}
        reproduced.append(about | values_of | {"command": command, "missing": missing})
    return reproduced


def _values(figure: Figure, subset: str, details: Sequence[Detail]) -> list[float]:
    """Return the values of a figure by topic; FollowIR's Score is AP, or nDCG@5 on News21."""
    measure = MEASURES.get(figure.measure, figure.measure)
    if measure == "score":
        measure = "nDCG@5" if subset == "news21" else "AP"
    systems = list(dict.fromkeys(detail["system"] for detail in details))
    for detail in details:
        column = systems[-1], heed_condition(figure), measure
        if (detail["system"], detail["condition"], detail["measure"]) == column:
            return [detail["per_topic"][qid] for qid in sorted(detail["per_topic"])]
    return []


def _judged(figure: Figure, by_subset: Sequence[Sequence[float]]) -> tuple[float, str]:
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
