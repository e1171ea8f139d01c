"""What the pool command tells of a pool: as tables, and as JSON."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from heed.errors import HeedError
from heed.evaluation.summary import aligned
from heed.pooling.judged import by_topic, tell_strangers
from heed.pooling.making import Inputs, Made
from heed.pooling.reuse import MEASURES, Judging, LeftOut, leave_out, owners
from heed.pooling.runs import system_of
from heed.pooling.samples import Layer, layers_of
from heed.pooling.statistics import SECONDS, Holdings, Sizes, holdings, hours, overlaps, shares, sizes
from heed.progress import brief, log
from heed.types import Qrels, Run


class Report(NamedTuple):
    """All figures of a pool; ``layers`` and ``left_out`` are empty where nothing was sampled or judged.

    ``seconds`` is the judging time of a document.
    """

    sizes: Sizes
    per_topic: dict[str, int]
    per_language: dict[str, int]
    held: Holdings
    layers: list[Layer]
    left_out: list[LeftOut]
    seconds: float = SECONDS


def reported(made: Made, inputs: Inputs, runs: Mapping[str, Run], qrels: Qrels) -> Report:
    """The figures of a pool; ``qrels`` (may be empty) tell whether judgements can be used again.

    Raises :class:`HeedError` for judgements of none of the runs' topics.
    """
    tell_strangers("--qrels", qrels, inputs.topics, inputs.base_of)
    mine = {qid: grades for qid, grades in qrels.items() if inputs.base_of[qid] in inputs.topics}
    return Report(
        sizes=sizes(made.pooled),
        per_topic={topic: len(docids) for topic, docids in made.pooled.items()},
        per_language=_languages(made, inputs),
        held=holdings(made.pooled, inputs.topics, list(runs)),
        layers=layers_of(made.strata, made.layers, made.sample, by_topic(mine, inputs.base_of)) if made.strata else [],
        left_out=_reusability(inputs, runs, mine),
    )


def _languages(made: Made, inputs: Inputs) -> dict[str, int]:
    """Pooled documents by the language of the list that holds them, where lists are split by language."""
    counts: Counter[str] = Counter()
    for topic, docids in made.pooled.items():
        language = {docid: one.language for one in inputs.topics[topic] for docid in one.docids if one.language}
        counts.update(language[docid] for docid in docids if docid in language)
    return dict(sorted(counts.items()))


def _reusability(inputs: Inputs, runs: Mapping[str, Run], qrels: Qrels) -> list[LeftOut]:
    """Only topics under which the runs can be scored; with a single system there is nothing to rank."""
    known = {qid for run in runs.values() for qid in run}
    scorable = {qid: grades for qid, grades in qrels.items() if qid in known}
    if qrels and not scorable:
        raise HeedError(
            f"--qrels: its topics ({brief(sorted(qrels))}) are those of the pool, not those of the runs "
            f"({brief(sorted(known))}), which cannot be scored by them; give judgements under the runs' ids"
        )
    if scorable and len({system_of(name) for name in runs}) < 2:
        log.info("--qrels: all runs are of one system, so none is left out")
        return []
    return leave_out(runs, Judging(scorable, inputs.base_of, owners(inputs.topics))) if scorable else []


def as_data(report: Report) -> dict[str, Any]:
    """The report as JSON data; shares and coefficients are on the scale to 1, times in hours."""
    pairs = overlaps(report.held)
    return {
        "topics": report.sizes.topics,
        "documents": report.sizes.documents,
        "per_topic": {**report.sizes._asdict(), "sizes": report.per_topic},
        "per_language": report.per_language,
        "judging": {"seconds_per_document": report.seconds, "hours": hours(report.sizes.documents, report.seconds)},
        "runs": [one._asdict() for one in shares(report.held)],
        "overlap": {run: {pair.other: pair.share for pair in pairs if pair.run == run} for run in report.held},
        "jaccard": {run: {pair.other: pair.jaccard for pair in pairs if pair.run == run} for run in report.held},
        "strata": [one._asdict() for one in report.layers],
        "left_out": [
            {**one._asdict(), "effects": {effect.measure: effect._asdict() for effect in one.effects}}
            for one in report.left_out
        ],
    }


def as_text(report: Report, name: str) -> str:
    """The report as tables, an empty line between two."""
    parts = ["\n".join(_summary(report, name))]
    if report.held:
        parts += [_runs(report), *_matrices(report.held)]
    if report.layers:
        parts.append(_layers(report.layers))
    if report.left_out:
        parts.append(_left_out(report.left_out))
    return "\n\n".join(parts)


def _summary(report: Report, name: str) -> Iterator[str]:
    one = report.sizes
    yield f"{name}: {one.documents} documents of {one.topics} topics"
    yield f"a topic: {one.smallest} to {one.largest} documents, median {one.median:g}"
    if report.per_language:
        yield "by language: " + ", ".join(f"{language} {number}" for language, number in report.per_language.items())
    source = "an assumption; --seconds-per-document tells yours" if report.seconds == SECONDS else "as told"
    told = f"{hours(one.documents, report.seconds):.1f} hours at {report.seconds:g} s a document"
    yield f"expected judging: {told} ({source})"


def _runs(report: Report) -> str:
    found = shares(report.held)
    several = any(one.run != one.system for one in found)
    rows = [["", "run", "documents", "unique", *(["unique to system"] if several else [])]]
    for number, one in enumerate(found, 1):
        last = [str(one.system_unique)] if several else []
        rows.append([str(number), one.run, str(one.documents), str(one.unique), *last])
    return aligned(rows, left=2)


def _matrices(held: Holdings) -> Iterator[str]:
    pairs, runs = overlaps(held), list(held)
    yield "of the row's pooled documents the column's run holds, %\n" + _matrix(runs, [one.share for one in pairs])
    yield "Jaccard's coefficient ×100\n" + _matrix(runs, [one.jaccard for one in pairs])


def _matrix(runs: Sequence[str], values: Sequence[float]) -> str:
    rows = [["", "", *(str(number) for number in range(1, len(runs) + 1))]]
    for at, run in enumerate(runs):
        row = values[at * len(runs) : (at + 1) * len(runs)]
        rows.append([str(at + 1), run, *(f"{100 * value:.0f}" for value in row)])
    return aligned(rows, left=2)


def _layers(layers: Sequence[Layer]) -> str:
    rows = [["stratum", "documents", "drawn", "judged", "relevant", "estimated relevant"]]
    for one in layers:
        estimated = "-" if one.estimated is None else f"{one.estimated:.1f}"
        rows.append([one.stratum, *map(str, (one.documents, one.drawn, one.judged, one.relevant)), estimated])
    return aligned(rows, left=1)


def _left_out(found: Sequence[LeftOut]) -> str:
    rows = [["left out", "judged", "relevant", *(f"{measure} {what}" for measure in MEASURES for what in HEADS)]]
    for one in found:
        effects = [
            cell for effect in one.effects for cell in (f"{effect.tau:.3f}", str(effect.drop), f"{effect.loss:z.1%}")
        ]
        rows.append([one.system, str(one.judgements), str(one.relevant), *effects])
    falls = []
    for at, measure in enumerate(MEASURES):
        effects_of = [one.effects[at] for one in found]
        falls.append(f"{measure} {max(e.drop for e in effects_of)} ranks, {max(e.loss for e in effects_of):z.1%}")
    head = "without the judgements that a system's runs alone brought: τ of all runs' ranking, its own fall and loss"
    return f"{head}\n{aligned(rows, left=1)}\ngreatest fall and loss of a system left out: {'; '.join(falls)}"


HEADS = ("τ", "fall", "loss")
