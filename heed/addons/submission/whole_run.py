"""The checks of a run as a whole, after its last line: depths, lists, scores of every topic, missing topics, names."""

from collections.abc import Mapping
from statistics import median

from heed.addons.submission.expected import Rules
from heed.addons.submission.run_names import RunName
from heed.addons.submission.run_report import ERROR, WARNING, CheckedRun, Report
from heed.addons.submission.topic_state import TopicState
from heed.progress import brief
from heed.ranking import in_order

FEW = 10  # a topic with less than one in so many of the median topic's documents has far fewer than the others
DEPTH = {  # severity of a list that is too deep, and what the track does with it
    "cut": (WARNING, "cuts the list"),
    "refused": (ERROR, "refuses the run"),
    "unknown": (WARNING, "may cut the list or refuse the run"),
}
States = Mapping[str, TopicState]


def check_whole_run(run: CheckedRun, topics: States, name: RunName, rules: Rules) -> None:
    """Add the problems of a run that was read to its end; ``name`` are the parts of its tag."""
    _check_depth(run.report, topics, rules)
    _check_lists(run.report, topics)
    _check_order(run.report, topics)
    _check_single_precision(run.report, topics)
    _check_topics(run.report, topics, rules)
    _check_file_name(run, rules.file_name)
    _check_languages(run, name)


def _check_depth(report: Report, topics: States, rules: Rules) -> None:
    severity, action = DEPTH[rules.track.deeper]
    for qid, topic in topics.items():
        if topic.too_deep:
            problem = f"found {len(topic.first_lines)} documents in topic {qid}, expected at most {rules.depth}"
            report.add(severity, topic.too_deep, "depth", f"{problem}: the track {action}; cut it (fixable)")


def _check_lists(report: Report, topics: States) -> None:
    """Check for lists that come several times, and for topics with far fewer documents than the others."""
    same: dict[tuple[str, ...], list[str]] = {}
    for qid, topic in topics.items():
        if len(topic.first_lines) > 1:  # NIST advises to list any one document for a topic without results
            same.setdefault(tuple(topic.first_lines), []).append(qid)
    for qids in same.values():
        # 4_0, 4_1 … are one query under several instructions, and one list where only the query is searched
        if len({qid.partition("_")[0] for qid in qids}) > 1:
            problem = f"found the same list for {len(qids)} topics ({brief(qids)}), expected one for each"
            report.warning(0, "same-list", f"{problem}; check that each topic's own query was searched")
    counts = {qid: len(topic.first_lines) for qid, topic in topics.items()}
    usual = median(counts.values())
    few = [f"{qid}: {count}" for qid, count in counts.items() if count * FEW < usual]
    if few:
        problem = f"found far fewer documents in {len(few)} of {len(topics)} topics ({brief(few)})"
        advice = "check whether the search of these was cut off"
        report.warning(0, "few-documents", f"{problem}, expected about {usual:g} as in the others; {advice}")


def _check_order(report: Report, topics: States) -> None:
    """Check for scores that are the same, or against the ranks, in every topic; it is said once, instead of by line."""
    lists = {qid: topic for qid, topic in topics.items() if len(topic.first_lines) > 1}
    varying = [topic for topic in lists.values() if topic.varies]
    if lists and not varying:
        report.drop("tie-order")
        qid, topic = next(iter(lists.items()))
        problem = f"found that every score of a topic is the same, as {topic.score!r} in topic {qid}"
        why = "there is no ranking, and trec_eval puts such documents in the order of docids"
        report.warning(0, "no-ranking", f"{problem}: {why}; write the scores that ranked them")
    elif lists and all(topic.reversed for topic in varying):
        report.drop("rank-order")
        report.drop("score-order")
        problem = "found ranks that are the reverse of the scores in every topic, expected scores that fall with rank"
        remedy = "if the scores are distances, negate them; if the ranks are wrong, number them anew"
        report.error(0, "reversed", f"{problem}; one of both is wrong: {remedy}")


def _check_single_precision(report: Report, topics: States) -> None:
    swaps = {qid: topic.swapped for qid, topic in topics.items() if topic.swapped}
    if not swaps:
        return
    number, scores = next(iter(swaps.values()))
    listed = f"{len(swaps)} of {len(topics)} topics ({brief([*swaps])})"
    problem = f"found scores in {listed} that tie in single precision, the first {scores}"
    why = "pytrec_eval, and trec_eval before version 10, order such documents by docid and give other values"
    report.warning(number, "single-precision", f"{problem}; write whole numbers, best first (fixable): {why}")


def _check_topics(report: Report, topics: States, rules: Rules) -> None:
    expected = rules.track.topics
    if rules.topics is None and expected and len(topics) != expected:
        problem = f"found {len(topics)} topics, expected {expected}"
        report.warning(0, "topic-count", f"{problem}; a file of topics would name those that are missing")
    for qid in in_order(rules.topics or ()):
        if qid not in topics:
            problem = f"found no document for topic {qid}, expected at least one"
            report.error(0, "missing", f"{problem}; search it too, or list any one document")


def _check_file_name(run: CheckedRun, severity: str) -> None:
    file_name = run.path.name
    if severity and file_name.removesuffix(".gz") != run.tag:
        problem = f"found file name {file_name}, expected the tag, {run.tag} or {run.tag}.gz"
        run.report.add(severity, 0, "file-name", f"{problem}; rename the file (a corrected copy and a package have it)")


def _check_languages(run: CheckedRun, name: RunName) -> None:
    languages = run.languages.keys() - {""}
    if name.source == "mlir" and len(languages) == 1:
        problem = f"found documents in {', '.join(languages)} alone, expected a list over three languages"
        run.report.warning(0, "language", f"{problem}; check what was searched")
