"""Every reader of what users bring, as one table; each is put through ``hardening.fuzz``."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hardening import said


class Reader(NamedTuple):
    """A reader; ``suffix`` is what its files end with. It raises nothing but HeedError."""

    name: str
    suffix: str
    read: Callable[[Path], object]


def _run(path: Path) -> object:
    from heed.formats.trec_files import read_run

    return read_run(path)


def _any_run(path: Path) -> object:
    from heed.formats.run_formats import read_any_run

    return read_any_run(path)


def _brought(path: Path) -> object:
    from heed.formats.run_formats import read_external_runs
    from heed.types import Topic

    topics = [Topic(qid, "eng", "query", {"original": "told"}) for qid in ("1", "2")]
    return read_external_runs([f"mine={path}"], topics, ["original"])


def _qrels(path: Path) -> object:
    from heed.formats.judgements import read_judgements

    return read_judgements(path, "zho")


def _topics(path: Path) -> object:
    from heed.formats.topics import read_topics

    return read_topics(path, "zho", "title")


def _neuclir(path: Path) -> object:
    from heed.formats.topics import read_neuclir_topics

    return read_neuclir_topics(path, "zho", "both")


def _expected(path: Path) -> object:
    from heed.addons.submission.expected import expected_topics

    return expected_topics(path)


def _documents(path: Path) -> object:
    from heed.formats.documents import Files

    return list(Files([path], "zho").lines())


def _tables(form: str, path: Path) -> object:
    from heed.tables.documents import Tables

    return list(Tables([path], form).lines())


def _pairs(path: Path) -> object:
    from heed.measures.two_runs import pair

    return pair(["1", "2"], ["1_0", "2_0"], path)


def _pool(path: Path) -> object:
    from heed.formats.trec_files import read_pool

    return read_pool(path)


def _listed(path: Path) -> object:
    from heed.formats.data_sets import read_listed

    return read_listed(path)


def _rows(path: Path) -> object:
    from heed.formats.data_sets import grades_of, rows

    return [grades_of(rows(path.parent, path.name.partition(".")[0]))]


def _hub_topics(path: Path) -> object:
    from heed.formats.data_sets import Columns, read_rows, topics_of

    return topics_of(read_rows([path]), "eng", Columns(instructions={"original": ("instruction",)}))


def _followtable(path: Path) -> object:
    from heed.datasets.followtable import RAW, read_followtable

    path.replace(path.with_name(RAW))
    return read_followtable(path.parent)


def _models(path: Path) -> object:
    from heed.models.registry.entries import read_entries

    return [(model, list(model.presets)) for model in read_entries(path).values()]


def _training(path: Path) -> object:
    from heed.addons.training.lora import read_examples

    return read_examples(path)


def _judgements(path: Path) -> object:
    from heed.addons.judging.exchange.judgements import count_votes, read_labels

    return count_votes(read_labels([path], encoding="zho"), {}, None)


def _check(track: str, path: Path) -> object:
    from heed.addons.submission.expected import Rules
    from heed.addons.submission.run_checks import check_run
    from heed.addons.submission.tracks import TRACKS

    return check_run(path, Rules(TRACKS[track], 1000)).as_data()


def _form(path: Path) -> object:
    from heed.addons.submission.package import as_yaml, form_problems, read_form

    read = read_form(path)
    return [form_problems(entry, {}) for entry in read.values()], as_yaml(read.values())


def _shown(path: Path) -> object:
    from heed.addons.judging.annotate.opening import read_pooled
    from heed.datasets.own_files import documents_of

    return list(read_pooled(documents_of([str(path)], "eng"), ["doc1", "doc2"]))


def _named(name: str, suffixes: Iterable[str], read: Callable[[Path], object]) -> list[Reader]:
    return [Reader(f"{name}{suffix.replace('.', '-')}", suffix, read) for suffix in suffixes]


READERS = (
    Reader("run", ".run", _run),
    *_named("any-run", (".json", ".jsonl"), _any_run),
    Reader("brought", ".run", _brought),
    *_named("qrels", (".qrels", ".qrels.gz", ".csv", ".json"), _qrels),
    *_named("topics", (".jsonl", ".tsv", ".trec", ".txt.gz"), _topics),
    Reader("neuclir", ".jsonl", _neuclir),
    *_named("expected", (".txt", ".jsonl"), _expected),
    *_named("documents", (".jsonl", ".jsonl.gz", ".json", ".tsv"), _documents),
    *_named("tables", (".html", ".md", ".csv", ".tsv"), partial(_tables, "markdown")),
    Reader("tables-rows", ".jsonl", partial(_tables, "rows")),
    Reader("pairs", ".tsv", _pairs),
    Reader("pool", ".jsonl", _pool),
    Reader("listed", ".jsonl", _listed),
    *_named("hub-qrels", (".jsonl", ".tsv", ".parquet"), _rows),
    Reader("hub-topics", ".jsonl", _hub_topics),
    Reader("followtable", ".json", _followtable),
    Reader("answer", ".txt", said.answer),
    Reader("passage", ".txt", said.passage),
    Reader("thought", ".txt", said.thought),
    Reader("models", ".json", _models),
    Reader("training", ".jsonl", _training),
    *_named("judgements", (".json", ".jsonl", ".csv", ".xlsx"), _judgements),
    Reader("judgements-qrels", ".qrels", _judgements),
    Reader("check", ".run", partial(_check, "trec")),
    Reader("check-neuclir", ".run", partial(_check, "neuclir-2023")),
    Reader("form", ".yaml", _form),
    Reader("shown", ".jsonl", _shown),
    Reader("request", ".json", said.request),
    Reader("template", ".jinja", said.template),
)
