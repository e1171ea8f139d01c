"""Pool any runs for judging: depth, fusion, budgets, samples; orders for assessors; statistics and exports."""

import argparse
import sys

from heed.addons.judging.exchange.exports import ExportedPool, check_form, export
from heed.addons.judging.pools.build import (
    PoolQrels,
    build_pool,
    document_languages,
    pool_inputs,
    poolable,
    read_judged,
    read_runs,
    relevant_documents,
)
from heed.addons.judging.pools.selection import write_probabilities
from heed.errors import DataError
from heed.files import write_json
from heed.formats.pools import write_pool
from heed.progress import gathering, log, timed
from pipelines.command import main_of
from pipelines.options.pool import check_options, parser, probabilities_path, settings_as_data, settings_of


def _run(options: argparse.Namespace) -> None:
    check_options(options)
    for form, path in options.export:
        check_form(form, path)
    with gathering([]) as warnings:
        _pool(options, warnings)


def _pool(options: argparse.Namespace, warnings: list[str]) -> None:
    from heed.addons.judging.pools.report import as_data, as_text, pool_report
    from pipelines.texts import exported_pool

    encoding = options.encoding or options.lang or ""
    settings, qrels = settings_of(options), _read_qrels(options, encoding)
    reused = read_judged("qrels", [options.qrels], encoding)
    with timed("runs") as work:
        runs = read_runs(options.run, options.subset, encoding)
        work.did(len(runs), "runs")
    languages = document_languages(options.language, poolable(runs, qrels.only)) if options.language else {}
    with timed("pool") as work:
        inputs = pool_inputs(runs, qrels, settings, reused, languages)
        built = build_pool(inputs, settings)
        work.did(sum(map(len, built.documents.values())), "documents")
    with timed("statistics"):
        report = pool_report(built, inputs, runs, reused, options.seconds_per_document)
    shows_text = options.export and options.docs and options.topics
    exported = (
        exported_pool(options, built.documents) if shows_text else ExportedPool(built.documents, {}, "query", None)
    )
    probabilities = probabilities_path(options.out)
    if probabilities.exists():  # before the pool is written: a command that is killed leaves no two that do not fit
        probabilities.unlink()
        if not built.sample:
            log.info(f"{probabilities}: removed, it was of an earlier sample")
    write_pool(options.out, built.documents)
    if built.sample:
        write_probabilities(probabilities, built.sample)
    if options.json:
        write_json(
            options.json, {"settings": settings_as_data(options, settings), **as_data(report), "warnings": warnings}
        )
    for form, path in options.export:
        with timed("export", form):
            export(form, path, exported)
    print(as_text(report, str(options.out)))


def _read_qrels(options: argparse.Namespace, encoding: str) -> PoolQrels:
    only = read_judged("only_relevant", [options.only_relevant], encoding)
    if options.only_relevant and not relevant_documents(only):
        raise DataError(f"{options.only_relevant}: no document is relevant, so there is none to judge again")
    excluded = read_judged("exclude_judged", options.exclude_judged, encoding)
    return PoolQrels(excluded, only, read_judged("judged", [options.judged], encoding))


main = main_of(parser, _run)

if __name__ == "__main__":
    sys.exit(main())
