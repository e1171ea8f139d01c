"""Run the rows of a paper's tables that can run here, and say of each figure whether it comes out."""

import argparse
import shlex
import shutil
import subprocess
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from heed.datasets.catalogue import Catalogue
from heed.datasets.followir import CROSS_LINGUAL
from heed.files import write_json
from heed.progress import log
from pipelines.command import main_of, print_error
from pipelines.options.machine import registry_options
from pipelines.options.output import indexes_option, json_option, out_option
from pipelines.options.parser import command_parser
from pipelines.published import paper_options, published_tables

if TYPE_CHECKING:
    from heed.addons.published.reproduction import PlannedRow, ReproducedFigure, Setting
    from heed.experiment.results import Results
    from heed.measures.summary import Detail
    from heed.models.registry.entries import Registry

EXAMPLES = (
    "mfollowir --dry-run",
    "followir --system BM25",
    "followtable --table 3 --subset WTR --data FollowTable/data",
    "mteb --data BEIR --dry-run",
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``heed reproduce``."""
    parser = command_parser("reproduce", "PAPER", __doc__, EXAMPLES)
    paper_options(parser)
    parser.add_argument("--data", type=Path, metavar="DIR", help="local copy of the paper's data, a folder per subset")
    parser.add_argument("--dry-run", action="store_true", help="list commands and what is missing here; run nothing")
    registry_options(parser)
    out_option(parser, "runs/reproduce")
    json_option(parser)
    indexes_option(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    from heed.addons.published.reproduction import cells, tasks

    paper, tables = published_tables(options)
    listed = tasks(paper, tables, _registry(options), options.data, _gpu_gib())
    if options.dry_run:
        for task in listed:
            names = " ".join(filter(None, (task.table, task.system, task.subset, task.setting)))
            missing = f"  [missing: {'; '.join(task.missing)}]" if task.missing else ""
            print(f"{names}: {command_of(task, options.models) or 'no command'}{missing}")
        runnable = sum(not task.missing for task in listed)
        log.info(f"{len(listed)} rows, {runnable} can run here")
        reproduced = [cell for task in listed for cell in cells(task, {}, command_of(task, options.models))]
    else:
        folder = options.out / options.paper
        reproduced, known = _reproduced(options, listed, folder)
        write_json(folder / "reproduced.json", reproduced)
        print("\n".join([_verdicts(reproduced), *known]))
        log.info(f"{folder}/: reproduced.json, and the runs of each system")
    if options.json:
        write_json(options.json, reproduced)


def _registry(options: argparse.Namespace) -> "Registry":
    from pipelines.options.settings import registry_of

    return registry_of(options, described=())


def _gpu_gib() -> float:
    """Return the memory of the first GPU, 0 where there is none; torch would take seconds to say."""
    program = shutil.which("nvidia-smi")
    if not program:
        return 0.0
    query = [program, "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    lines = subprocess.run(query, capture_output=True, text=True, check=False).stdout.splitlines()  # noqa: S603
    return int(lines[0]) / 1024 if lines and lines[0].strip().isdigit() else 0.0


def arguments_of(setting: "Setting") -> list[str]:
    """Return the arguments of ``heed`` that run a setting."""
    from heed.addons.published.reproduction import FIRST_STAGE_DEPTH

    systems = ["--retriever", setting.model, "--reranker", "none"]
    systems += [part for measure in setting.measures for part in ("--measure", measure)]
    if setting.candidates:
        systems = ["--pool", "published", "--retriever", "none", "--reranker", setting.reranker]
    elif setting.first_stage:
        depth = str(FIRST_STAGE_DEPTH)
        systems = ["--retriever", setting.first_stage, "--reranker", setting.reranker, "--rerank-depth", depth]
    return [*_collection_of(setting), *systems]


def _collection_of(setting: "Setting") -> list[str]:
    data = ["--data", str(setting.data)] if setting.data else []
    if setting.measures:
        return ["trec", *(["--docs", str(setting.data)] if setting.data else ["--dataset", setting.collection])]
    if setting.collection == "followtable":
        return ["tables", *(data or ["--subset", str(setting.subset)])]
    if setting.collection == "infosearch":
        return ["infosearch", "--dimension", str(setting.dimension), *data]
    if setting.lang:
        english = ["--query-lang", "eng"] if setting.collection == CROSS_LINGUAL else []
        topics = str(setting.data or Catalogue().entries[setting.collection].hub)
        return ["neuclir", "--lang", setting.lang, "--topics", topics, "--topics-format", "mfollowir", *english]
    return ["trec", "--dataset", setting.collection, *data, *(["--docs", "COLLECTION"] if setting.whole else [])]


def command_of(task: "PlannedRow", models: Sequence[str] = ()) -> str:
    """Return the commands of a row as a user types them, with files of ``models``; empty where there is none."""
    files = [part for path in models for part in ("--models", path)]
    return " && ".join(f"heed {' '.join([*arguments_of(setting), *files])}" for setting in task.settings.values())


def _reproduced(
    options: argparse.Namespace, listed: "list[PlannedRow]", folder: Path
) -> "tuple[list[ReproducedFigure], dict[str, None]]":
    """Run every setting that can run here, each once; return the figures of all tasks, and what explains those off.

    One that fails is said to be missing its result; the others go on.
    """
    from heed.addons.published.reproduction import cells
    from heed.addons.published.standings import explanations

    done: dict[Setting, Sequence[Detail] | str] = {}
    reproduced: list[ReproducedFigure] = []
    known: dict[str, None] = {}
    for task in listed:
        results = {}
        for subset, setting in task.settings.items() if not task.missing else ():
            if setting not in done:
                done[setting] = _details(setting, folder / task.model.replace("/", "-"), options)
            outcome = done[setting]
            if isinstance(outcome, str):
                task.missing.append(outcome)
            else:
                results[subset] = outcome
        of_task = cells(task, results, command_of(task, options.models))
        if any(cell["verdict"] == "off" for cell in of_task):
            known |= dict.fromkeys(explanations(options.paper, task.subset, [task.model]))
        reproduced += of_task
    return reproduced, known


def _details(setting: "Setting", out: Path, options: argparse.Namespace) -> "Sequence[Detail] | str":
    """Run a setting, print its table and return the figures; or print its error and return it in one line."""
    try:
        results = _run_setting(setting, out, options.indexes, _registry(options))
    except Exception as error:
        if options.debug:
            traceback.print_exc()
        print_error(error)
        return f"it failed: {str(error).partition(chr(10))[0]}"
    print(results)
    return results.details


def _run_setting(setting: "Setting", out: Path, indexes: Path, registry: "Registry") -> "Results":
    """Return the measures of a setting's systems; the last is the one that the paper prints."""
    from heed.addons.published.reproduction import FIRST_STAGE_DEPTH
    from heed.data import Data
    from heed.datasets.loading import find_collections, load
    from heed.experiment.experiment import Experiment

    if setting.collection:
        collection = load(
            setting.collection, lang=setting.lang, subset=setting.subset, dimension=setting.dimension, data=setting.data
        )
    else:
        [collection] = find_collections(None, Data(docs=(str(setting.data),)))
    with Experiment(collection, out=out, indexes=indexes, registry=registry) as experiment:
        experiment.command = shlex.join(["heed", *arguments_of(setting)])
        if setting.candidates:
            systems = [experiment.rerank(setting.reranker, experiment.published_pool())]
        else:
            systems = [experiment.retrieve(setting.first_stage or setting.model)]
        if setting.first_stage:
            systems.append(experiment.rerank(setting.reranker, systems, depth=FIRST_STAGE_DEPTH))
        results, names = experiment.evaluate(systems, setting.measures), {system.name for system in systems}
    return replace(results, details=[each for each in results.details if each["system"] in names])


def _verdicts(cells: "Sequence[ReproducedFigure]") -> str:
    """Return a line for each figure that ran, and counts of all verdicts."""
    from heed.measures.summary import aligned

    lines = [["table", "system", "subset", "condition", "measure", "ours", "published", "difference", "verdict"]]
    for cell in cells:
        if cell["ours"] is not None:
            ours, difference = f"{cell['ours']:z.2f}", f"{cell['ours'] - cell['published']:+z.2f}"
            names = [cell["table"], cell["system"], cell["subset"], cell["condition"], cell["measure"]]
            lines.append([*names, ours, str(cell["published"]), difference, cell["verdict"]])
    counts = Counter(cell["verdict"] for cell in cells)
    total = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("equal", "within", "off", "not run"))
    return f"{aligned(lines, left=5)}\n{len(cells)} figures: {total}"


main = main_of(parser, _run)
