"""Corrected copies: what can be fixed becomes the clean run, the rest is refused; any damage is reported."""

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_faults import (
    RULES,
    TAG,
    Fault,
    clean,
    close_scores,
    deeper,
    distances,
    everywhere,
    from_0,
    insert,
    problems,
    put,
    ranks_reversed,
    raw,
    swap,
    uuid,
)

from heed.addons.submission.expected import Rules
from heed.addons.submission.run_checks import check_run
from heed.addons.submission.run_fixes import fix_run
from heed.addons.submission.tracks import TRACKS
from heed.errors import HeedError
from heed.formats.trec_files import write_run


def by_rank(lines: list[str]) -> list[str]:
    return sorted(lines, key=lambda line: int(line.split()[3]))


def upside_down(lines: list[str]) -> list[str]:
    return [*lines[:4], *reversed(lines[4:8]), *lines[8:]]


def one_rising(lines: list[str]) -> list[str]:
    """One topic whose scores rise with its ranks."""
    return [
        *lines[:4],
        *(put(1, 4, str(rank))([line])[0] for rank, line in enumerate(reversed(lines[4:8]), 1)),
        *lines[8:],
    ]


FIXED = [
    Fault("q0 everywhere", everywhere(2, "0"), 0, "", "12 lines with Q0 in column 2"),
    Fault("no ranks", everywhere(4, "1"), 0, "", "9 ranks rewritten"),
    Fault("ranks from 0", from_0, 0, "", "12 ranks rewritten"),
    Fault("a header", insert(1, "topic Q0 docid rank score tag\n"), 0, "", "1 header removed"),
    Fault("blank lines", insert(3, "\n"), 0, "", "1 blank line removed"),
    Fault("comments", insert(1, "# ir_metadata.start\n"), 0, "", "1 comment removed"),
    Fault("a byte-order mark", raw(lambda run: b"\xef\xbb\xbf" + run), 0, "", "byte-order mark removed"),
    Fault("Windows", raw(lambda run: run.replace(b"\n", b"\r\n")), 0, "", "Windows line ends made LF"),
    Fault("no last newline", raw(lambda run: run[:-1]), 0, "", "last newline added"),
    Fault("tabs", raw(lambda run: run.replace(b" ", b"\t")), 0, "", "12 lines with single spaces"),
    Fault("sorted by rank", by_rank, 0, "", "9 times a topic's lines were put together"),
    Fault("a topic upside down", upside_down, 0, "", "1 topic sorted by score"),
    Fault("one topic by rising scores", one_rising, 0, "", "1 topic sorted by score"),
    Fault("ties in file order", swap(2, 3, 3), 0, "", "1 topic sorted by score, then docid"),
    Fault("a line twice", lambda run: insert(3, run[1])(run), 0, "", "1 repeated line with the same score left out"),
    Fault("decimal commas", raw(lambda run: run.replace(b".5 ", b",5 ")), 0, "", " decimal commas made points"),
    Fault("nothing", list, 0, "", ""),
]


@pytest.mark.parametrize("fault", FIXED, ids=lambda fault: fault.name)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_what_can_be_fixed_becomes_the_clean_run(tmp_path: Path, fault: Fault, suffix: str) -> None:
    target = tmp_path / "out" / f"{TAG}{suffix}"
    done = fix_run(check_run(fault.write(tmp_path), RULES), target, RULES)
    written = gzip.decompress(target.read_bytes()) if suffix else target.read_bytes()
    assert written.decode() == "".join(clean())
    assert problems(check_run(target, RULES)) == []
    assert fault.said in "; ".join(done)
    assert bool(done) == bool(fault.said)


def test_a_list_that_is_too_deep_keeps_its_best(tmp_path: Path) -> None:
    source = tmp_path / "x"
    source.write_text("".join(reversed(deeper(0, 1002)(clean()))))
    done = fix_run(check_run(source, RULES), tmp_path / TAG, RULES)
    assert check_run(tmp_path / TAG, RULES).topics["200"] == 1000
    assert "2 documents below the first 1000 of their topics left out" in done
    kept = [line for line in (tmp_path / TAG).read_text().splitlines() if line.startswith("200 ")]
    assert kept[0].split()[2:5] == [uuid(98), "1", "9.5"]
    assert kept[-1].split()[2:5] == [uuid(11_000), "1000", "-1000"]


def test_constant_scores_are_no_distances(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("".join(everywhere(5, "1")(swap(1, 2, 3)(clean()))))
    with pytest.raises(HeedError, match="its ranks are the only order"):
        fix_run(check_run(tmp_path / "x", RULES), tmp_path / TAG, RULES)
    (tmp_path / "x").write_text("".join(everywhere(5, "1")(clean())))  # in the order of docids
    assert fix_run(check_run(tmp_path / "x", RULES), tmp_path / TAG, RULES) == []


def test_scores_beyond_single_precision_keep_their_order_as_whole_numbers(tmp_path: Path) -> None:
    import pytrec_eval

    (tmp_path / "x").write_text("".join(close_scores(clean())))
    done = fix_run(check_run(tmp_path / "x", RULES), tmp_path / TAG, RULES)
    assert done == ["2 topics with whole numbers as scores, which single precision tells apart"]
    assert problems(check_run(tmp_path / TAG, RULES)) == []
    best = {line.split()[0]: line.split()[2] for line in close_scores(clean()) if line.split()[3] == "1"}
    judged = pytrec_eval.RelevanceEvaluator({qid: {docid: 1} for qid, docid in best.items()}, {"recip_rank"})
    found = []
    for path in (tmp_path / "x", tmp_path / TAG):
        with path.open() as stream:
            found.append([value["recip_rank"] for value in judged.evaluate(pytrec_eval.parse_run(stream)).values()])
    # by docid, descending, the best document of 201 and 202 is the last of four
    assert found == [[1.0, 0.25, 0.25], [1.0, 1.0, 1.0]]
    scores = [line.split()[4] for line in (tmp_path / TAG).read_text().splitlines()]
    assert scores == ["1.0", "0.9999999999", "0.9999999998", "0.9999999997", *"4321", *"4321"]


def test_the_tag_is_written_where_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("".join(put(3, 6, "c")(clean(tag="a+b"))))
    tagged = replace(RULES, tag=TAG)
    done = fix_run(check_run(tmp_path / "x", tagged), tmp_path / TAG, tagged)
    assert done == [f"12 lines with the tag {TAG}"]
    assert (tmp_path / TAG).read_text() == "".join(clean())


REFUSED = [
    Fault("two scores", put(4, 3, uuid(98)), 4, "duplicate", "in topic 200, with score 1e-3 after 9.5"),
    Fault("a comma of two meanings", put(1, 5, "9,500"), 1, "score", "; write 9.500, or without the comma"),
    Fault("commas", raw(lambda run: run.replace(b" ", b",")), 1, "fields", "tr , ' ' < "),
    Fault("NaN", put(3, 5, "nan"), 3, "score", "found score 'nan'"),
    Fault("five fields", put(6, 3, ""), 6, "fields", "found 5 fields"),
    Fault("two tags", put(7, 6, "other"), 7, "tag", "fixable with a new tag"),
    Fault("damage", put(5, 3, f"{uuid(7)}\0"), 5, "character", "(U+0000)"),
    Fault("distances", distances, 0, "", "if the scores are distances, negate them"),
    Fault("ranks reversed", ranks_reversed, 0, "", "if the ranks are wrong, number them anew"),
    Fault("an id of no collection", put(2, 3, "doc2"), 2, "docid", "these problems remain after fixing"),
    Fault("a topic left out", lambda run: run[:8], 0, "missing", "these problems remain after fixing"),
    Fault("nothing in it", raw(lambda run: b"\n# x\n"), 0, "empty", "found no line, expected"),
]


@pytest.mark.parametrize("fault", REFUSED, ids=lambda fault: fault.name)
def test_what_would_need_a_guess_is_refused_and_nothing_written(tmp_path: Path, fault: Fault) -> None:
    path = fault.write(tmp_path)
    before = path.read_bytes()
    with pytest.raises(HeedError) as caught:
        fix_run(check_run(path, RULES), tmp_path / "out" / TAG, RULES)
    assert fault.said in str(caught.value)
    assert fault.line == 0 or f", line {fault.line}: " in str(caught.value)
    assert not (tmp_path / "out").exists()
    with pytest.raises(HeedError, match="this is the run itself"):
        fix_run(check_run(path, RULES), path, RULES)
    assert path.read_bytes() == before


IDS = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=8).filter(lambda one: one[0] != "#")
RUNS = st.dictionaries(
    IDS,
    st.dictionaries(IDS, st.floats(allow_nan=False, allow_infinity=False) | st.just(1.0), min_size=1, max_size=6),
    min_size=1,
    max_size=4,
)


def any_track(topics: dict[str, dict[str, float]]) -> Rules:
    return Rules(TRACKS["trec"], 1000, topics=topics.keys())


@given(RUNS)
def test_a_run_that_heed_writes_is_well_formed(
    tmp_path_factory: pytest.TempPathFactory, run: dict[str, dict[str, float]]
) -> None:
    path = tmp_path_factory.mktemp("runs") / "a.run"
    write_run(path, run, "tag")
    checked = check_run(path, any_track(run))
    of_scores = {"single-precision", "same-list", "no-ranking"}  # of what the run says, not of how it is written
    assert {kind for _, kind, _ in problems(checked)} <= of_scores
    assert checked.topics == {qid: len(scores) for qid, scores in run.items()}


@given(RUNS, st.data())
@settings(max_examples=150)
def test_a_corrupted_line_never_does_worse_than_a_reported_error(
    tmp_path_factory: pytest.TempPathFactory, run: dict[str, dict[str, float]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    path, fixed = folder / "a.run", folder / "b.run"
    write_run(path, run, "tag")
    lines = path.read_bytes().splitlines(keepends=True)
    place = data.draw(st.integers(0, len(lines) - 1))
    line = lines[place]
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(line))] * 2)))
    lines[place] = line[:start] + data.draw(st.binary(max_size=8)) + line[end:]
    path.write_bytes(b"".join(lines))
    rules = any_track(run)
    checked = check_run(path, rules)
    assert all(0 <= one.line <= len(lines) + 8 and one.message for one in checked.report.problems())
    try:
        fix_run(checked, fixed, rules)
    except HeedError:
        assert not fixed.exists()
    else:
        found = check_run(fixed, rules).report
        assert found.count("error") == 0 and "single-precision" not in found.kinds("warning")
