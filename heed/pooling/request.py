"""What the user asks of the pool command: options that contradict each other, and the inputs that they name."""

import argparse
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from heed.errors import HeedError, fail
from heed.pooling.budgets import ALL, quotas
from heed.pooling.judged import read_judged
from heed.pooling.languages import document_languages, topic_languages
from heed.pooling.making import Known, Wish
from heed.types import Run

DEPTH = 100  # of each list; TREC's classic pools (Voorhees and Harman, TREC-8 overview, 1999)
GUIDED = ("mtf", "hedge")


def check(options: argparse.Namespace) -> None:
    """Refuse options that contradict each other or would be of no use, all at once."""
    fail(_problems(options))


def _problems(options: argparse.Namespace) -> Iterator[str]:
    read = [*options.run, *(options.exclude_judged or ()), options.only_relevant, options.judged, options.qrels]
    if options.out.resolve() in {path.resolve() for path in read if path}:
        yield f"--out {options.out}: is read too and would be overwritten; name another file"
    if options.sample and options.out == probabilities(options.out):
        yield f"--out {options.out}: is where the probabilities go; name a .jsonl file"
    again, languages = options.only_relevant, {key for key, _ in options.budget or () if key}
    if not options.run and not again:
        yield "no RUN given; name the run files, or --only-relevant QRELS"
    for option in ("size", "budget", "sample"):
        if again and getattr(options, option):
            yield f"--only-relevant with --{option}: all relevant documents are read again; leave --{option} out"
    for option in ("size", "budget"):
        if options.sample and getattr(options, option):
            yield f"--sample with --{option}: a cut would change the probabilities; choose smaller shares instead"
    if options.sample and options.depth and options.depth != options.sample[-1].last:
        yield f"--depth {options.depth} with strata to rank {options.sample[-1].last}: leave --depth out"
    if not options.run:
        given = [option for option in ("depth", "language", "qrels") if getattr(options, option)]
        yield from (f"--{option} without RUN: it is about runs; name them, or leave it out" for option in given)
        if options.order != "hidden":
            yield f"--order {options.order} without RUN: only the hidden order needs no runs"
    if options.judged and options.order not in GUIDED:
        yield f"--judged with --order {options.order}: it guides {' and '.join(GUIDED)}; --exclude-judged leaves out"
    if options.seed is not None and options.order != "hidden" and not options.sample:
        yield f"--seed with --order {options.order}: nothing is drawn by chance; leave it out"
    if languages and not (options.language or options.topics):
        yield f"--budget {min(languages)}=…: tell the languages with --language LANG=PATH, or of topics with --topics"
    if languages and options.language and not languages <= {language for language, _ in options.language}:
        yield f"--budget {min(languages)}=…: every language with a budget needs its --language LANG=PATH"
    if options.topics and not (options.export or languages):
        yield "--topics: of use with --export, or with a budget for a language"
    for option in ("docs", "lang", "condition"):
        if getattr(options, option) and not options.export:
            yield f"--{option}: of use with --export only"


def probabilities(out: Path) -> Path:
    """Where the probabilities of a sample go that is written to ``out``."""
    return out.with_suffix(".prels")


def wish_of(options: argparse.Namespace) -> Wish:
    """How the pool is to be made."""
    strata = tuple(options.sample or ())
    return Wish(
        depth=strata[-1].last if strata else options.depth or DEPTH,
        order=options.order,
        seed=options.seed or 0,
        by_base=options.by_base,
        only_topics=tuple(options.topic or ()),
        sizes=quotas("--size", options.size or []),
        budgets=quotas("--budget", options.budget or []),
        strata=strata,
    )


def settings_of(options: argparse.Namespace, wish: Wish) -> dict[str, Any]:
    """The settings as JSON data."""
    return {
        "depth": wish.depth,
        "size": dict(wish.sizes),
        "budget": dict(wish.budgets),
        "sample": [str(one) for one in wish.strata],
        "language": sorted(f"{language}={path}" for language, path in options.language or ()),
        "by_base": wish.by_base,
        "topics": sorted(wish.only_topics),
        "order": wish.order,
        "seed": wish.seed,
        "exclude_judged": sorted(map(str, options.exclude_judged or ())),
        "only_relevant": options.only_relevant and str(options.only_relevant),
        "judged": options.judged and str(options.judged),
        "qrels": options.qrels and str(options.qrels),
    }


def known_of(options: argparse.Namespace) -> Known:
    """The judgements that shape the pool."""
    only = read_judged("--only-relevant", [options.only_relevant] if options.only_relevant else [])
    if options.only_relevant and not any(grade > 0 for grades in only.values() for grade in grades.values()):
        raise HeedError(f"{options.only_relevant}: no document is relevant, so there is none to read again")
    return Known(
        excluded=read_judged("--exclude-judged", options.exclude_judged or []),
        only=only,
        judged=read_judged("--judged", [options.judged] if options.judged else []),
    )


def document_languages_of(options: argparse.Namespace, runs: Mapping[str, Run], known: Known) -> dict[str, str]:
    """The languages by docid that --language tells; empty without it."""
    if not options.language:
        return {}
    docids = {docid for run in runs.values() for scores in run.values() for docid in scores}
    docids.update(docid for grades in known.only.values() for docid, grade in grades.items() if grade > 0)
    return document_languages(options.language, docids)


def language_of(
    options: argparse.Namespace, of_document: Mapping[str, str], topics: Collection[str]
) -> Callable[[str, str], str]:
    """The language of a topic's document: its own, else the topic's where a budget asks for it, else ``""``."""
    if of_document:
        return lambda _, docid: of_document[docid]
    if any(key != ALL for key, _ in options.budget or ()):
        of_topic = topic_languages(Path(options.topics), topics)
        return lambda topic, _: of_topic[topic]
    return lambda _, __: ALL
