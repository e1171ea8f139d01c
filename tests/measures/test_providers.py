"""Each program of ir_measures through Heed, on the inputs of ir_measures' own tests."""

import json
from typing import Any

import ir_measures
import pytest
from conftest import ROOT

from heed.measures import standard
from heed.measures.per_topic import parse_name
from heed.measures.registry import computed
from heed.types import Qrels, Run, Subtopics, by_subtopic

GOLDEN = json.loads((ROOT / "tests" / "data" / "golden" / "providers.json").read_text())
PROGRAMS = list(dict.fromkeys(program for program, *_ in GOLDEN["cases"]))
# gdeval is asked for its own nDCG by a name that is pytrec_eval's: gains 2^grade − 1; ir_measures takes a cutoff for
# SetP and SetR, which have none, and passes it over; it leaves out the Accuracy of a list without a relevant document,
# which counts 0 in Heed
BY_DEFINITION = {
    "gdeval nDCG@20",
    "gdeval nDCG@2",
    "ranx SetP(rel=2)@5",
    "ranx SetR(rel=2)@5",
    "accuracy Accuracy(rel=2)",
}
# a list's rank of each relevant document by grade, and how many more the list lacks: TREC CAsT's topic 31_1 in
# ir_measures' tests/compat.run and compat.qrels, whose first 414 of 1,000 documents decide to the sixth digit
RANKS = {
    50: (10, 33),
    30: (9, 12),
    10: (18,),
    4: (1, 2, 3, 4, 5, 7, 8, 11, 13, 15, 16, 19, 20, 21, 22, 51, 199, 276),
    3: (6, 17, 23, 27, 35, 40, 53, 63, 77, 114, 168, 278, 302, 320, 325),
    2: (54, 59, 62, 72, 73, 87, 90, 102, 105, 142, 165, 166, 177, 193, 198, 212, 231, 275, 279, 290, 321, 349, 367),
    1: (37, 120, 250, 263, 281, 326, 360, 389),
}
LACKED = {3: 4, 2: 9, 1: 7}


def inputs(number: int) -> tuple[Run, Qrels]:
    """Return the run and the judgements of a case."""
    judged, listed = GOLDEN["inputs"][number]
    topics: dict[str, Subtopics] = {}
    for qid, subtopic, docid, grade in map(str.split, judged.splitlines()):
        topics.setdefault(qid, {}).setdefault(subtopic, {})[docid] = int(grade)
    run: Run = {}
    for qid, docid, score in map(str.split, listed.splitlines()):
        run.setdefault(qid, {})[docid] = float(score)
    return run, by_subtopic(topics)


def measure_of(text: str) -> Any:
    name = parse_name(text)
    measure = getattr(ir_measures, name.family)(**name.parameters)
    return measure if name.cutoff is None else measure @ name.depth()


@pytest.mark.golden(program="ir-measures 0.4.3", compared="each of its programs on its own tests' inputs", systems=())
@pytest.mark.filterwarnings("ignore:unsafe cast")  # inside ranx
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_program_gives_what_its_authors_expect(program: str) -> None:
    provider = ir_measures.providers.registry[program]
    if not provider.is_available():
        pytest.skip(f"not installed: {provider.install_instructions()}")
    for _, name, number, expected in filter(lambda case: case[0] == program, GOLDEN["cases"]):
        values = {qid: value for qid, _, value in computed(provider, [measure_of(name)], *inputs(number))}
        assert values == pytest.approx(expected, abs=1e-9), name


@pytest.mark.golden(program="ir-measures 0.4.3", compared="the same by the program that Heed asks", systems=())
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_program_that_heed_asks_gives_the_same(program: str) -> None:
    compared = 0
    for _, name, number, expected in filter(lambda case: case[0] == program, GOLDEN["cases"]):
        measure = measure_of(name)
        if f"{program} {name}" not in BY_DEFINITION and any(
            each.is_available() and each.supports(measure)
            for each in (ir_measures.pytrec_eval, *ir_measures.DefaultPipeline.providers)
        ):
            values = standard(*inputs(number), [name])[name]
            assert values == pytest.approx(expected, abs=6e-6), name  # gdeval prints five digits
            compared += 1
    if not compared:
        pytest.skip("no program is installed for its measures")


@pytest.mark.filterwarnings("ignore:unsafe cast")  # inside ranx
@pytest.mark.parametrize(("program", "name"), [("pyndeval", "nNRBP"), ("ranx", "nDCG(dcg='exp-log2')")])
def test_a_topic_without_results_or_without_relevant_documents_is_0(program: str, name: str) -> None:
    """Where the program has no number for it (pyndeval), or refuses a run that lacks a topic (ranx)."""
    if not ir_measures.providers.registry[program].is_available():
        pytest.skip(f"not installed: {program}")
    qrels = by_subtopic({qid: {"1": {"a": grade}, "2": {"a": grade}} for qid, grade in (("1", 1), ("2", 0), ("3", 1))})
    assert standard({"1": {"a": 1.0}, "2": {"a": 1.0}}, qrels, [name])[name] == {"1": 1.0, "2": 0.0, "3": 0.0}


@pytest.mark.golden(program="ir-measures 0.4.3", compared="Compat, with the values of Clarke's program", systems=())
@pytest.mark.parametrize(
    ("name", "value"), [("Compat(p=0.95)", 0.517795), ("Compat(p=0.9)", 0.376133), ("Compat(p=0.8)", 0.167230)]
)
def test_compat_ranks_documents_that_the_list_lacks_last(name: str, value: float) -> None:
    run = {f"d{rank}": 1 / rank for rank in range(1, 1001)}
    grades = {f"d{rank}": grade for grade, ranks in RANKS.items() for rank in ranks}
    grades |= {f"lacked {grade} {number}": grade for grade, count in LACKED.items() for number in range(count)}
    assert standard({"31_1": run}, {"31_1": grades}, [name])[name]["31_1"] == pytest.approx(value, abs=1e-6)


def test_compat_by_hand() -> None:
    # The ideal is a, which the list has, then b, c, in any order. Of depths 1, 2, 3 with the weights 1, 0.8, 0.64 the
    # list x, a shares nothing, 1 of 2, 1 of 3
    values = standard({"1": {"x": 2.0, "a": 1.0}}, {"1": {"a": 1, "b": 1, "c": 1}}, ["Compat(p=0.8)"])
    assert values["Compat(p=0.8)"]["1"] == pytest.approx((0.8 / 2 + 0.64 / 3) / (1 + 0.8 + 0.64))  # 25.14


def test_msmarcos_reciprocal_rank_by_ir_measures() -> None:
    run, qrels = inputs(next(number for program, _, number, _ in GOLDEN["cases"] if program == "cwl_eval"))
    for name in ("RR@1", "RR@5", "RR@10"):
        theirs = ir_measures.msmarco.iter_calc([measure_of(name)], qrels, run)
        assert standard(run, qrels, [name])[name] == {each.query_id: each.value for each in theirs}


def test_the_accuracy_of_a_list_that_is_relevant_throughout_has_no_value() -> None:
    run = {"all": {"a": 2.0, "b": 1.0}, "some": {"a": 2.0, "x": 1.0, "b": 0.5}, "none": {"x": 1.0}}
    qrels = {qid: {"a": 2, "b": 1} for qid in (*run, "no list")}
    values = standard(run, qrels, ["Accuracy", "Accuracy(rel=2)", "Accuracy@1"])
    # some: of the pairs of x with a and with b one is in order; lists without a relevant document count 0, ir_measures
    # leaves these out too
    assert values["Accuracy"] == {"some": 0.5, "none": 0.0, "no list": 0.0}
    assert values["Accuracy(rel=2)"] == {"all": 1.0, "some": 1.0, "none": 0.0, "no list": 0.0}  # of each topic alone
    assert values["Accuracy@1"] == {"none": 0.0, "no list": 0.0}
    for twice in (["Accuracy", "Accuracy"], ["Accuracy", "Accuracy(rel=1)"]):  # one measure
        assert set(map(str, standard(run, qrels, twice).values())) == {str(values["Accuracy"])}


def test_interpolated_precision_at_every_recall() -> None:
    # trec_eval 9's: recall × relevant documents + 0.9, rounded down, are to be found; 10 rounds to the nearest.
    # 0.5 × 3 + 0.9 = 2.4 and both find 2; 0.4 × 3 + 0.9 = 2.1 is 2 where trec_eval 10 rounds 1.2 to 1
    run, qrels = {"1": {"a": 4.0, "x": 3.0, "b": 2.0, "c": 1.0}}, {"1": {"a": 1, "b": 1, "c": 1}}
    names = ("IPrec@0.0", "IPrec@0.4", "IPrec@.5", "IPrec@1.0", "IPrec@1")
    values = standard(run, qrels, names)
    assert [values[name]["1"] for name in names] == [1.0, 3 / 4, 3 / 4, 3 / 4, 3 / 4]


def test_every_program_takes_a_list_without_documents() -> None:
    names = ["infAP", "Bpref", "Rprec", "RR@5", "ERR@5", "Compat", "Accuracy", "NumRet", "Judged"]
    run: Run = {"1": {}, "2": {"a": 2.0, "b": 1.0}}
    values = standard(run, {"1": {"a": 1, "b": -1}, "2": {"a": 1, "b": -1}}, names)
    assert {name: of["1"] for name, of in values.items()} == dict.fromkeys(names, 0.0)
