"""Agreement of assessors, and judgements as files that the collection commands read as they are."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from annotating import SAMPLE, Judging, annotation_files, sample_pool
from conftest import ROOT
from readings import read_topic

from heed.addons.judging.annotate.grades import (
    disagreements,
    export,
    final_grades,
    grade_before_edit,
    majority_grade,
    missing_for_export,
    original_grades,
    pair_agreements,
    progress_by_topic,
)
from heed.addons.judging.annotate.server import agreement_data
from heed.addons.judging.annotate.store import EARLIER, Change, Judgement, wording_of
from heed.addons.judging.annotate.task import ADJUDICATED, Task
from heed.errors import HeedError
from heed.formats.trec_files import read_qrels
from heed.measures import no_longer_relevant
from pipelines.annotate import open_given
from pipelines.annotate import parser as annotate_parser


def judged(assessor: str, docid: str, value: int | None, condition: str = "original", wording: str = "") -> Judgement:
    return Judgement(assessor, "1", condition, docid, value, "", wording)


def test_pairs_are_of_documents_that_both_graded_under_the_same_wording() -> None:
    judgements = [judged("ann", "a", 1), judged("bela", "a", 1), judged("ann", "b", 0), judged("carl", "c", 0)]
    judgements += [judged("ann", "a", 1, "changed", "w1"), judged("bela", "a", 1, "changed", "w2")]
    judgements += [judged(ADJUDICATED, "a", 0), judged("bela", "b", None)]
    agreements = pair_agreements(judgements, [0, 1])
    assert [(pair["first"], pair["second"], pair["condition"], pair["reworded"]) for pair in agreements] == [
        ("ann", "bela", "original", 0),
        ("ann", "bela", "changed", 1),
    ]
    assert [pair["agreement"]["n"] for pair in agreements] == [1, 0]


def test_disagreements_tell_all_grades_and_the_decision() -> None:
    judgements = [judged("ann", "a", 1), judged("bela", "a", 0), judged("ann", "b", 1), judged("bela", "b", 1)]
    [open_one] = disagreements(judgements, {})
    assert open_one == {
        "qid": "1",
        "condition": "original",
        "docid": "a",
        "grades": {"ann": 1, "bela": 0},
        "decision": None,
    }
    [decided] = disagreements([*judgements, judged(ADJUDICATED, "a", 1)], {("1", "original", "a"): "Chair"})
    assert (decided["decision"], decided["decided_by"]) == (1, "Chair")
    again = [judged("ann", docid, 1, "changed") for docid in "ab"] + [
        judged("bela", docid, 0, "changed") for docid in "ab"
    ]
    shown = [(item["condition"], item["docid"]) for item in disagreements([*judgements, *again], {})]
    assert shown == [("original", "a"), ("changed", "a"), ("changed", "b")]
    ruled = [*judgements, *again, judged(ADJUDICATED, "a", 0)]
    shown = [(item["condition"], item["docid"]) for item in disagreements(ruled, {})]
    assert shown == [("original", "a"), ("changed", "b")], "a is not relevant, and an edit only narrows"


def test_the_grade_that_stands_for_several() -> None:
    assert majority_grade({"ann": 1}) == 1
    assert majority_grade({"ann": 1, "bela": 1, "carl": 0}) == 1
    assert majority_grade({"ann": 1, "bela": 0}) is None
    assert majority_grade({"ann": 1, "bela": 0, "carl": 3}) is None
    assert majority_grade({"ann": 1, "bela": 1, "carl": 1, ADJUDICATED: 0}) == 0
    assert majority_grade({}) is None


def test_what_is_read_again_comes_from_decision_then_majority_then_ones_own_grade() -> None:
    task = Task({"1": ["a"]}, {}, "eng", ())
    blind = replace(task, assigned={"1": ["ann", "bela", "carl"]})
    grades = {"ann": 1, "bela": 1, "carl": 0}
    assert [grade_before_edit(task, "1", grades, name) for name in ("carl", "dora")] == [1, None]
    assert grade_before_edit(blind, "1", grades, "carl") == 0, "he learns nothing of the others"
    assert grade_before_edit(task, "1", {"ann": 1, "bela": 0}, "bela") == 0, "nothing decides"
    for each in (task, blind):
        assert grade_before_edit(each, "1", {**grades, ADJUDICATED: 3}, "carl") == 3


def test_the_original_grades_of_an_edited_document_are_the_decision_or_those_given() -> None:
    task = Task({"1": ["a", "b"]}, {}, "eng", (), qrels={"1": {"a": 2}})
    key = ("1", "original", "a")
    assert original_grades(task, {}, "1", "a") == {"given": 2}
    assert original_grades(task, {}, "1", "b") == {}
    assert original_grades(task, {key: {"ann": 1, "bela": 0}}, "1", "a") == {"ann": 1, "bela": 0}
    assert original_grades(task, {key: {"ann": 1, "bela": 0, ADJUDICATED: 3}}, "1", "a") == {ADJUDICATED: 3}


def test_a_files_grade_under_the_original_narrative_is_compared_with_a_pages_but_no_outdated_one() -> None:
    page, file = wording_of(""), ""  # no digest of an edit, as each writes it
    judgements = [judged("ann", "a", 1, wording=page), judged("bela", "a", 1, wording=file)]
    judgements += [judged("ann", "b", 1, wording=page), judged("bela", "b", 1, wording=EARLIER)]
    [pair] = pair_agreements(judgements, [0, 1])
    assert (pair["agreement"]["n"], pair["reworded"]) == (1, 1)


# Export


class Annotation(Judging):
    """A database over the sample."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.pool = sample_pool(folder / "pool.jsonl")
        self.options = annotate_parser().parse_args([str(folder / "pool.jsonl"), "--lang", "zho", *arguments])
        self.task, store = open_given(self.options)
        super().__init__(store)
        self.out = folder / "out"

    def grade_topic(self, who: str, qid: str, condition: str, values: Sequence[int | None]) -> dict[str, int]:
        grades = dict(zip(self.task.to_judge(qid), values, strict=False))
        for docid, value in grades.items():
            self.grade(who, qid, docid, value, condition)
        return grades

    def export(self, who: str | None = None) -> list[str]:
        return export(self.task, self.store, self.out, who)


@pytest.fixture
def annotation(tmp_path: Path) -> Iterator[Annotation]:
    annotation = Annotation(tmp_path)
    yield annotation
    annotation.store.close()


def test_what_was_judged_is_exported_in_the_pools_order(annotation: Annotation) -> None:
    original = annotation.grade_topic("ann", "01", "original", [3, 0, 1, 2])
    changed = annotation.grade_topic("ann", "01", "changed", [3, 0, 0, 0])
    lines = annotation.export("ann")
    assert read_qrels(annotation.out / "original.qrels") == {"01": original}
    assert read_qrels(annotation.out / "changed.qrels") == {"01": changed}
    assert list(original) == annotation.pool["01"][:4]
    assert (annotation.out / "original.qrels").read_text().splitlines()[0] == f"01 0 {next(iter(original))} 3"
    assert lines[0].endswith("original.qrels: 4 judgements, 1 topic")
    assert no_longer_relevant(
        read_qrels(annotation.out / "original.qrels"), read_qrels(annotation.out / "changed.qrels")
    ) == {"01": {docid for docid, value in original.items() if value > 0 and changed[docid] == 0}}


def test_a_topic_whose_relevant_documents_are_not_all_judged_again_is_left_out(annotation: Annotation) -> None:
    annotation.grade_topic("ann", "01", "original", [3, 0, 1, 2])
    annotation.grade_topic("ann", "01", "changed", [3, 0, 0])  # the fourth, relevant before, is not read again
    lines = annotation.export()
    assert not (annotation.out / "changed.qrels").exists()
    assert any("topic 01: left out of changed.qrels, 1 relevant document without a grade" in line for line in lines)


def test_a_topic_that_was_not_edited_has_no_changed_judgements(annotation: Annotation) -> None:
    annotation.grade_topic("ann", "01", "original", [3, 0])
    annotation.edit("ann", "01", annotation.task.original("01"))
    annotation.grade_topic("ann", "01", "changed", [0, 0])
    lines = annotation.export()
    assert not (annotation.out / "changed.qrels").exists()
    assert any("though the narrative is the original one, left out: 01" in line for line in lines)
    first = json.loads((annotation.out / "topics.jsonl").read_text().splitlines()[0])
    assert list(first["instructions"]) == ["original"]


# one: all agree, four: decided; two: 1, 3, 3; three: 0, 3, 1, each once, so that a majority is a tie, for the highest
@pytest.mark.parametrize(
    ("rule", "by_rule"),
    [("", {}), ("majority", {"two": 3, "three": 3}), ("highest", {"two": 3, "three": 3})],
)
def test_where_assessors_differ_a_decision_counts_and_a_rule_only_if_it_is_asked_for(
    annotation: Annotation, rule: str, by_rule: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    one, two, three, four = annotation.pool["01"][:4]
    for who, values in {"ann": (1, 1, 0, 2), "bela": (1, 3, 3, 2), "carl": (1, 3, 1, 0)}.items():
        for docid, value in zip((one, two, three, four), values, strict=True):
            annotation.grade(who, "01", docid, value)
    annotation.grade(ADJUDICATED, "01", four, 3)
    lines = export(annotation.task, annotation.store, annotation.out, resolve=rule)
    ruled = {{"two": two, "three": three}[name]: grade for name, grade in by_rule.items()}
    assert read_qrels(annotation.out / "original.qrels") == {"01": {one: 1, four: 3, **ruled}}
    assert any("2 judgements left out: assessors differ" in line for line in lines) is not bool(rule)
    written = json.loads((annotation.out / "agreement.json").read_text())
    assert (written["rule"], written["decided_by_rule"]) == (rule or None, len(ruled))
    assert {item["docid"]: item["by_rule"] for item in written["disagreements"] if "by_rule" in item} == ruled
    assert (f"2 documents are judged differently; the grade by {rule} is taken" in caplog.text) is bool(rule)
    with pytest.raises(HeedError) as refused:
        export(annotation.task, annotation.store, annotation.out, resolve="error")
    assert str(refused.value).count("; correct one, or choose a rule") == 2
    annotation.export("bela")
    assert read_qrels(annotation.out / "original.qrels") == {"01": {one: 1, two: 3, three: 3, four: 2}}
    agreement = json.loads((annotation.out / "agreement.json").read_text())
    assert [(pair["first"], pair["second"], pair["agreement"]["n"]) for pair in agreement["pairs"]] == [
        ("ann", "bela", 4),
        ("ann", "carl", 4),
        ("bela", "carl", 4),
    ]
    assert [item["docid"] for item in agreement["disagreements"]] == sorted([two, three, four])


def test_what_assessors_differ_on_gets_no_other_grade_and_alone_is_no_error(annotation: Annotation) -> None:
    one, two = annotation.pool["01"][:2]
    task = replace(annotation.task, qrels={"01": {one: 3, two: 0}})
    for who, value in (("ann", 1), ("bela", 0)):
        annotation.grade(who, "01", one, value)
        annotation.grade(who, "01", two, value, "changed")
    export(annotation.task, annotation.store, annotation.out)
    assert not [*annotation.out.glob("*.qrels")] and (annotation.out / "judgements.jsonl").exists()
    export(task, annotation.store, annotation.out)
    assert read_qrels(annotation.out / "original.qrels") == {"01": {two: 0}}, "the grade given before is in question"
    assert not (annotation.out / "changed.qrels").exists(), "two was not relevant, and now it is open whether it is"


def test_changed_grades_older_than_the_narrative_are_left_out_and_named(annotation: Annotation) -> None:
    for who in ("ann", "bela"):
        for qid in ("01", "02"):
            annotation.grade_topic(who, qid, "original", [3, 0, 1, 2])
            annotation.grade_topic(who, qid, "changed", [3, 0, 1, 0])
    one, two, three, four = annotation.pool["01"][:4]
    annotation.export()
    assert [*read_qrels(annotation.out / "changed.qrels")] == ["01", "02"]
    annotation.grade("carl", "01", one, 0, "changed")
    assert agreement_data(annotation.task, annotation.store, "chair")["open"] == 1
    history = len(annotation.store.judgements())
    annotation.edit("ann", "01", "another narrative")
    assert agreement_data(annotation.task, annotation.store, "chair")["open"] == 0, "to be read again, not decided"
    narratives = {qid: text for qid, (text, _) in annotation.store.narratives().items()}
    progress = progress_by_topic(annotation.task, annotation.store.judgements(), narratives, "ann")["01"]
    assert (progress["again"], progress["read"]) == (4, 0), "the page says that all are to be read again"
    lines = annotation.export()
    assert [*read_qrels(annotation.out / "changed.qrels")] == ["02"]
    named = "; judge them, or decide"
    assert any(line.startswith("topic 01: left out") and f"{one}, {three}, {four}{named}" in line for line in lines)
    assert "4 judgements made before the narrative's last edit or a correction, left out (topic 01: 4)" in lines
    for docid, value in ((one, 0), (three, 1), (four, 2)):
        annotation.grade("bela", "01", docid, value, "changed")  # one who has read it again suffices
    annotation.export()
    assert read_qrels(annotation.out / "changed.qrels")["01"] == {one: 0, two: 0, three: 1, four: 2}
    assert len(annotation.store.judgements()) == history


@pytest.mark.parametrize(
    ("decision", "rule", "grades"),
    [(None, "", {}), (0, "", {0: 0, 1: 0}), (2, "", {0: 2, 1: 3}), (None, "highest", {0: 2, 1: 3})],
)
def test_changed_grades_follow_the_final_original_grade(
    annotation: Annotation, decision: int | None, rule: str, grades: dict[int, int]
) -> None:
    """One whose original grade is open has no changed one; Ann, who is overruled, has read hers again for nothing."""
    one, two, three, four, five, *others = annotation.pool["01"]
    task = replace(annotation.task, pool={"01": annotation.pool["01"]}, qrels={"01": {five: 0}})
    for who, original in (("ann", (2, 1, 0)), ("bela", (0, 1, 0))):
        annotation.grade_topic(who, "01", "original", original)
    for docid, value in ((one, 3), (two, 0), (three, 1), (four, 2), (five, 1)):  # the last three are wider
        annotation.grade("ann", "01", docid, value, "changed")
    if decision is not None:
        annotation.grade(ADJUDICATED, "01", one, decision)
    lines = export(task, annotation.store, annotation.out, unjudged="0", resolve=rule)
    first = {one: grades[0]} if grades else {}
    again = {one: grades[1]} if grades else {}
    rest = {two: 1, three: 0, four: 0, five: 0, **dict.fromkeys(others, 0)}
    assert read_qrels(annotation.out / "original.qrels") == {"01": {**first, **rest}}
    assert read_qrels(annotation.out / "changed.qrels") == {"01": {**again, **rest, two: 0, three: 1, four: 2, five: 1}}
    said = [line for line in lines if "by who is overruled" in line]
    assert [line.endswith(f"(topic, document): 01 {one}") for line in said] == [True] * (decision == 0)


def test_a_document_that_only_an_older_grade_calls_relevant_keeps_its_topic_open(annotation: Annotation) -> None:
    annotation.grade_topic("ann", "01", "original", [0, 1])
    one, two = annotation.grade_topic("ann", "01", "changed", [1, 1])
    annotation.edit("ann", "01", "another narrative")
    annotation.grade("ann", "01", two, 1, "changed")
    assert any(
        line.endswith(f"narrative: {one}; judge them, or decide where assessors differ") for line in annotation.export()
    )
    assert not (annotation.out / "changed.qrels").exists()


def test_a_topic_of_two_assessors_is_finished_when_both_have_judged_and_read_again(annotation: Annotation) -> None:
    values = [1] + [0] * (len(annotation.pool["01"]) - 1)
    task = replace(annotation.task, pool={"01": annotation.pool["01"]}, assigned={"01": ["ann", "bela"]})

    def missing() -> str:
        narratives = {qid: text for qid, (text, _) in annotation.store.narratives().items()}
        return missing_for_export(task, final_grades(task, annotation.store.judgements(), narratives))

    def exported(condition: str) -> dict[str, int]:
        export(task, annotation.store, annotation.out)
        path = annotation.out / f"{condition}.qrels"
        return read_qrels(path)["01"] if path.exists() else {}

    grades = annotation.grade_topic("ann", "01", "original", values)
    assert missing() == f"{len(values)} documents are not judged by all to whom their topic is assigned."
    assert exported("original") == {}
    with pytest.raises(HeedError, match=f"{len(values)} documents are not judged by all to whom their topic is"):
        export(task, annotation.store, annotation.out, unjudged="error")
    annotation.grade_topic("ann", "01", "changed", [1])
    annotation.grade_topic("bela", "01", "original", values[:-1])
    assert [*exported("original")] == [*grades][:-1] and exported("changed") == {}
    annotation.grade_topic("ann", "01", "changed", [None])
    annotation.grade_topic("bela", "01", "original", values)
    assert missing() == "" and exported("original") == grades
    annotation.grade_topic("bela", "01", "changed", [1])
    assert "topics 01 lack grades under the changed narrative" in missing() and exported("changed") == {}
    annotation.grade_topic("ann", "01", "changed", [1])
    assert missing() == "" and exported("changed") == grades
    export(task, annotation.store, annotation.out, unjudged="error")  # everything is judged
    assert read_qrels(annotation.out / "original.qrels") == {"01": grades}


def test_two_assessors_who_agree_in_everything_are_named(
    annotation: Annotation, caplog: pytest.LogCaptureFixture
) -> None:
    for who, values in {"ann": [1, 0, 3], "ann 2": [1, 0, 3], "bela": [1, 0, 0], "carl": [1, 0]}.items():
        annotation.grade_topic(who, "01", "original", values)
    for who in ("ann", "ann 2"):
        annotation.grade_topic(who, "01", "changed", [0])
    annotation.export()
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [
        "ann and ann 2 agree on all 4 documents that both judged: are they one person?"
    ]
    assert json.loads((annotation.out / "agreement.json").read_text())["same_grades"] == [["ann", "ann 2"]]
    annotation.grade("ann", "01", annotation.pool["01"][1], 1, "changed")
    annotation.grade("ann 2", "01", annotation.pool["01"][1], 0, "changed")
    annotation.export()
    assert json.loads((annotation.out / "agreement.json").read_text())["same_grades"] == []


def test_pooled_documents_without_a_grade_are_counted_and_filled_where_differing_ones_are_not(
    annotation: Annotation,
) -> None:
    one, two, *others = annotation.pool["01"]
    annotation.grade("ann", "01", one, 1)
    for who, value in (("ann", 1), ("bela", 0)):
        annotation.grade(who, "01", two, value)
    pooled = sum(map(len, annotation.pool.values()))
    counts = ", ".join(f"{qid}: {len(docids) - 2 * (qid == '01')}" for qid, docids in annotation.pool.items())
    line = f"{pooled - 2} of {pooled} pooled documents are not judged (topic {counts}), left out; -1 or 0"
    assert any(text.startswith(line) for text in annotation.export())
    assert read_qrels(annotation.out / "original.qrels") == {"01": {one: 1}}
    filled = export(annotation.task, annotation.store, annotation.out, unjudged="-1")
    assert any(text.endswith(f"(topic {counts}): -1; topics without any grade are left out: 02, 03") for text in filled)
    assert read_qrels(annotation.out / "original.qrels") == {"01": {one: 1, **dict.fromkeys(others, -1)}}


def test_nothing_judged_and_an_unknown_assessor_are_told(annotation: Annotation) -> None:
    with pytest.raises(HeedError, match="no document is judged; there is nothing to export"):
        annotation.export()
    annotation.grade_topic("ann", "01", "original", [1])
    with pytest.raises(HeedError, match="^Bela has judged nothing; who has: ann"):
        annotation.export("Bela")


def test_judgements_are_exported_with_notes_and_marked_where_the_narrative_was_edited_later(
    annotation: Annotation,
) -> None:
    annotation.grade_topic("ann", "01", "changed", [1, 0])
    docid = annotation.pool["01"][0]
    annotation.record("ann", Change("note", "01", "changed", docid, "the cause is told"))
    annotation.edit("ann", "01", "another narrative")
    annotation.grade("ann", "01", annotation.pool["01"][1], 0, "changed")
    lines = annotation.export()
    records = {
        record["docid"]: record
        for record in map(json.loads, (annotation.out / "judgements.jsonl").read_text().splitlines())
    }
    assert (records[docid]["note"], records[docid]["grade"], records[docid]["reworded"]) == (
        "the cause is told",
        1,
        True,
    )
    assert records[annotation.pool["01"][1]]["reworded"] is False
    assert records[docid]["at"].endswith("+00:00")
    assert any("1 judgement made before the narrative's last edit" in line for line in lines)


def test_only_relevant_takes_the_other_documents_grades_over(tmp_path: Path) -> None:
    qrels = ROOT / "qrels" / SAMPLE / "original.qrels"
    annotation = Annotation(tmp_path, "--only-relevant")  # the sample's own judgements
    before = read_qrels(qrels)
    relevant = [docid for docid in annotation.pool["01"] if before["01"][docid] > 0]
    assert annotation.task.to_judge("01") == relevant
    changed = annotation.grade_topic("ann", "01", "changed", [0, 1] * 4)
    annotation.grade_topic("ann", "02", "changed", [0, 1])  # not all
    annotation.export()
    annotation.store.close()
    assert read_qrels(annotation.out / "original.qrels") == {qid: before[qid] for qid in annotation.pool}
    exported = read_qrels(annotation.out / "changed.qrels")
    assert exported == {"01": {**dict.fromkeys(before["01"], 0), **changed}}
    no_longer = no_longer_relevant(read_qrels(annotation.out / "original.qrels"), exported)
    assert no_longer == {"01": {docid for docid, value in changed.items() if value == 0}}


def test_the_collection_commands_read_what_is_exported(annotation: Annotation) -> None:
    from heed.data import Data
    from heed.datasets.loading import find_collections

    annotation.edit("ann", "02", "只要居民自己发起的抗议。\n其他均不相关。")
    original = {qid: annotation.grade_topic("ann", qid, "original", [3, 0, 1]) for qid in ("01", "02")}
    changed = {qid: annotation.grade_topic("ann", qid, "changed", [0, 0, 1]) for qid in ("01", "02")}
    annotation.export()
    docs = str(ROOT / "documents" / SAMPLE / "zho.jsonl")
    qrels = {"qrels": annotation.out / "original.qrels", "changed_qrels": annotation.out / "changed.qrels"}
    data = Data((docs,), str(annotation.out / "topics.jsonl"), lang="zho", **qrels)
    for name in ("neuclir1", None):
        [collection] = find_collections(name, data)
        assert collection.judging.qrels == {"original": original, "changed": changed}
        topics = {topic.qid: topic for topic in collection.topics}
        assert list(topics) == ["01", "02", "03"]
        assert topics["02"].instructions["changed"] == "只要居民自己发起的抗议。\n其他均不相关。"
        assert topics["02"].instructions["original"] == annotation.task.original("02")
        assert topics["01"] == annotation.task.topics["01"]


def test_an_exported_topic_keeps_its_type_and_its_bare_query(tmp_path: Path) -> None:
    from heed.formats.topics import read_topics

    (tmp_path / "pool.jsonl").write_text('{"qid": "1_0", "docids": ["t006"]}\n')
    task, store = open_given(annotate_parser().parse_args([str(tmp_path / "pool.jsonl")]))
    store.record("client-1", "ann", "client-1", [Change("grade", "1_0", "original", "t006", 1)])
    export(task, store, tmp_path / "out", None)
    store.close()
    sample = read_topics(ROOT / "topics" / "tables-sample" / "eng.jsonl", "eng", "title")
    assert read_topics(tmp_path / "out" / "topics.jsonl", "eng", "title") == [
        topic for topic in sample if topic.qid in ("1", "1_0")
    ]


def test_an_exported_topic_keeps_the_readings_of_narratives_that_nobody_edited(tmp_path: Path) -> None:
    from heed.formats.topics import read_topics, readings_of

    read = read_topic("cars", original="Cars;{ leave out }[-prices-]", changed="Cars;{ leave out }[-age-]")
    record = {"qid": "1", "query": "cars", "instructions": read.instructions, "readings": readings_of(read)}
    arguments = annotation_files(tmp_path, [record], [{"id": "d", "text": "a car"}])
    for edit in ("", "Cars; leave out dates"):
        task, store = open_given(annotate_parser().parse_args([*map(str, arguments)]))
        if edit:
            edited = Change("narrative", "1", value=edit, base=store.narratives()["1"][1])
            store.record("client-1", "ann", "client-1", [edited])
        store.record("client-2", "ann", "client-2" + edit, [Change("grade", "1", "original", "d", 1)])
        export(task, store, tmp_path / "out", None)
        store.close()
        [topic] = read_topics(tmp_path / "out" / "topics.jsonl", "eng", "title")
        assert topic == (read if not edit else read.instructed({**read.instructions, "changed": edit}))
        assert topic.readings.keys() == ({"original"} if edit else {"original", "changed"})


def test_the_export_tells_what_it_wrote(annotation: Annotation) -> None:
    annotation.grade_topic("ann", "01", "original", [1, 0])
    annotation.grade_topic("bela", "01", "original", [1, 1])
    lines = annotation.export()
    assert lines[1].endswith("changed.qrels: not written, no topic is judged as changed")
    assert lines[2].endswith("topics.jsonl: 3 topics, 3 with a changed narrative")
    # (1,1), (0,1): observed 1 of 2 equal; by chance 1/2·0 + 1/2·1 = 1/2; κ = 0
    assert lines[-1] == "ann and bela, original: 2 documents, equal 0.500, κ 0.000, linear κ 0.000"
    assert wording_of(annotation.task.original("01"))
