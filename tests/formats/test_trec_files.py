import gzip
import json
from pathlib import Path

import pytest
import pytrec_eval
from conftest import write_jsonl
from hypothesis import given
from hypothesis import strategies as st

from heed import files
from heed.errors import HeedError
from heed.formats.judgements import read_judgements
from heed.formats.run_formats import read_any_run
from heed.formats.trec_files import as_tag, read_pool, read_qrels, read_run, write_pool, write_qrels, write_run
from heed.types import Qrels

IDS = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=8).filter(
    lambda one: one.split() == [one]
)
RUNS = st.dictionaries(
    IDS.filter(lambda one: not one.startswith("#")),  # begins a comment for trec_eval
    st.dictionaries(IDS, st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5),
    min_size=1,
    max_size=4,
)


@given(RUNS)
def test_a_run_reads_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, run: dict[str, dict[str, float]]
) -> None:
    path = tmp_path_factory.mktemp("runs") / "a.run"
    write_run(path, run, "tag")
    assert read_run(path) == run


def test_a_docid_is_in_memory_once_for_all_topics_where_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    write_run(path, {"1": {"document-1": 2.0}, "2": {"document-1": 1.0}}, "tag")
    both = [
        [read_run(path, shared_ids=shared) for _ in range(2)] for shared in (False, True)
    ]  # held, as ids are reused
    apart, shared = (len({id(docid) for run in runs for scores in run.values() for docid in scores}) for runs in both)
    assert (apart, shared) == (4, 1)


def test_a_run_is_written_in_six_columns_best_first(tmp_path: Path) -> None:
    write_run(tmp_path / "a.run", {"007": {"x": 1.0, "NA": 1.0, "y": 2.5}}, "bm25-query")
    assert (tmp_path / "a.run").read_text() == (
        "007 Q0 y 1 2.5 bm25-query\n007 Q0 x 2 1.0 bm25-query\n007 Q0 NA 3 1.0 bm25-query\n"
    )


def test_a_gzipped_run_has_the_same_bytes_twice(tmp_path: Path) -> None:
    for name in ("a.run.gz", "b.run.gz"):
        write_run(tmp_path / name, {"1": {"d": 1.0}}, "t")
    assert (tmp_path / "a.run.gz").read_bytes() == (tmp_path / "b.run.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.run.gz").read_bytes()) == b"1 Q0 d 1 1.0 t\n"
    assert read_run(tmp_path / "a.run.gz") == {"1": {"d": 1.0}}


@pytest.mark.parametrize(
    ("run", "tag", "said"),
    [
        ({"q": {"d": float("nan")}}, "t", "topic q, document d: score nan"),
        ({"q": {"d": float("inf")}}, "t", "score inf"),
        ({"q": {"a b": 1.0}}, "t", "docid 'a b' holds white space"),
        ({"": {"d": 1.0}}, "t", "qid '' holds white space or is empty"),
        ({"#1": {"d": 1.0}}, "t", "qid '#1' begins a comment"),
        ({"q": {"d": 1.0}}, "two words", "tag 'two words'"),
    ],
)
def test_what_a_run_file_cannot_hold_is_refused(tmp_path: Path, run: dict, tag: str, said: str) -> None:
    with pytest.raises(HeedError, match=said):
        write_run(tmp_path / "a.run", run, tag)
    assert not (tmp_path / "a.run").exists()


def test_words_after_the_tag_are_left_out_and_an_id_with_a_blank_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "r.run"
    path.write_text("1 Q0 a 1 2.5 my tag # note\n1 Q0 b 2 1.5 my\n")
    assert read_run(path) == {"1": {"a": 2.5, "b": 1.5}}
    for line in ("1 Q0 doc a 1 2.5 my\n", "1 Q0 doc 7 1 2.5 my\n", "1 Q0 doc 7 8 1 2.5 my\n"):
        path.write_text(line)
        with pytest.raises(HeedError, match="line 1: . columns, expected 6"):
            read_run(path)


def test_every_bad_line_of_a_run_is_told_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "bad.run"
    path.write_text("1 Q0 a 1 2.0 t\n1 Q0 b 2 t\n1 Q0 c 3 nan t\n1 Q0 a 4 1.0 t\n1 Q0 d 5 x t\n")
    with pytest.raises(HeedError) as caught:
        read_run(path)
    told = str(caught.value).splitlines()
    assert len(told) == 4
    assert "line 2: 5 columns, expected 6" in told[0]
    assert "line 3: score 'nan', expected a finite number" in told[1]
    assert "line 4: document a is listed again for topic 1" in told[2]
    assert "line 5: score 'x'" in told[3]


@pytest.mark.parametrize("piece", [1, 7, 40, 1 << 20])
def test_runs_and_qrels_are_those_of_pytrec_eval_wherever_a_piece_of_the_file_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(files, "PIECE", piece)
    run = "2 Q0 b 1 2e0 t\n2 Q0 a 2 -1.5 t\n1 Q0 a 1 .5 t\n2\tQ0  c 7 7 t\n1 0 b 1 1e308 t\n1 0 c 1 1e308 t"
    qrels = "2 0 b 1\n2 0 a 0\n1 0 a -1\n2\t0  c 3\n"
    for content, ours, theirs in ((run, read_run, pytrec_eval.parse_run), (qrels, read_qrels, pytrec_eval.parse_qrel)):
        for text in (content, content.replace("\n", "\n\n"), content.replace("\n", "\r\n"), f"# no line\n{content}"):
            (tmp_path / "file").write_bytes(text.encode())
            plain = [line for line in content.split("\n") if line]
            assert list(ours(tmp_path / "file").items()) == list(theirs(plain).items())


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        ("1 Q0 a 1 2.0\nt 1 Q0 b 2 1.0 t\n", ["line 1: 5 columns", "line 2: 7 columns"]),  # twelve fields in all
        ("1 Q0 a 1 2.0 t \0 1 Q0 b 1 1.0 t\n", ["line 1: 13 columns"]),
        ("1 Q0 a 1 2.0 t1 Q0 b 2 1.0 t\n", ["line 1: 11 columns"]),  # no words after a tag: a line without its end
        ("1 Q0 a 1 1_0 t\n", ["line 1: score '1_0'"]),
        ("1 Q0 a 1 inf t\n1 Q0 b 2 -inf t\n", ["line 1: score 'inf'", "line 2: score '-inf'"]),
        ("1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", ["line 3: document a is listed again for topic 1"]),
    ],
)
def test_bad_lines_are_seen_where_many_are_read_at_once(tmp_path: Path, content: str, problems: list[str]) -> None:
    (tmp_path / "a.run").write_text(content)
    with pytest.raises(HeedError) as caught:
        read_run(tmp_path / "a.run")
    for line, expected in zip(str(caught.value).splitlines(), problems, strict=True):
        assert line.startswith(f"{tmp_path / 'a.run'}, {expected}")


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_run_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "empty.run").write_bytes(content)
    with pytest.raises(HeedError, match="holds no run lines"):
        read_run(tmp_path / "empty.run")


def test_wrong_encoding_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "latin.run").write_bytes("1 Q0 a 1 2.0 t\n1 Q0 é 2 1.0 t\n".encode("latin-1"))
    with pytest.raises(HeedError, match=r"latin.run, line 2: not UTF-8"):
        read_run(tmp_path / "latin.run")


COMMENTED = {  # each reader, and what it makes of two comments, one of which has the columns of a line
    "run": (read_run, "# a run\n1 Q0 d#0 1 3.0 t\n #1 Q0 c 2 2.9 t\n1 Q0 #b 3 2.0 t\n", {"1": {"d#0": 3.0, "#b": 2.0}}),
    "any run": (read_any_run, "#301 Q0 c 1 2.9 x\n# NIST\n1 Q0 a 1 2.0 t\n", {"1": {"a": 2.0}}),
    "qrels": (read_qrels, "#1 0 c 1\n# of NIST's own files\n1 0 d#0 2\n", {"1": {"d#0": 2}}),
    "BEIR": (read_qrels, "# of\n# BEIR\nquery-id\tcorpus-id\tscore\n1\ta\t1\n", {"1": {"a": 1}}),
}


@pytest.mark.parametrize("form", COMMENTED)
def test_a_line_that_begins_with_a_hash_is_a_comment(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    read, content, expected = COMMENTED[form]  # trec_eval 10 skips such lines; docids may hold the character
    (tmp_path / "file").write_text(content)
    assert read(tmp_path / "file") == expected
    assert capsys.readouterr().err == f"{tmp_path / 'file'}: skipped 2 comments, lines that begin with #\n"


def test_a_tag_is_made_of_any_name() -> None:
    assert [as_tag(name) for name in ("bm25+rm3.query", "-x", "模型", "--")] == ["bm25-rm3-query", "x", "run", "run"]


def test_a_damaged_or_cut_gzip_stream_is_told(tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"1 Q0 {at * 7919} 1 {at}.5 t\n" for at in range(1000)).encode())
    long = gzip.compress(b"1 Q0 a 1 2 t\n" * 100_000)
    (tmp_path / "bad.run.gz").write_bytes(whole[:50] + bytes(100) + whole[150:])
    with pytest.raises(HeedError, match=r"bad\.run\.gz: cannot be read \(Error -3"):
        read_run(tmp_path / "bad.run.gz")
    for content, said in (
        (whole, r"cannot be read \(Compressed file ended .*; it is cut short: copy it again"),
        (long, "cannot be read after line"),
    ):
        (tmp_path / "cut.run.gz").write_bytes(content[:-12])
        with pytest.raises(HeedError, match=said):
            read_run(tmp_path / "cut.run.gz")


@pytest.mark.parametrize(
    ("content", "lang", "qrels"),
    [
        ("1 0 a 2.0\n1 0 b -1\n1 0 c 0\n007 Q0 NA 3\n", None, {"1": {"a": 2, "b": -1, "c": 0}, "007": {"NA": 3}}),
        ("query-id\tcorpus-id\tscore\n0_0\t8930\t1\n", None, {"0_0": {"8930": 1}}),  # BEIR's
        ("1 zho a 3\n1 rus b 1\n2 fas c 1\n", "zho", {"1": {"a": 3}}),  # NeuCLIR's official ones
        ("query_id\tcorpus_id\tscore\n1\ta b\t2\n\n", None, {"1": {"a b": 2}}),
        ('"qid"\t"did"\t"label"\r\n"007"\t"zho"\t"1"\r\n8\tb\t0\r\n', "rus", {"007": {"zho": 1}, "8": {"b": 0}}),
        ("relevance\tdocid\tnote\tqid\n2\ta\tof x y\t1\n", None, {"1": {"a": 2}}),  # by name
        ("1\ta\t2\n1\tb\t0\n", None, {"1": {"a": 2, "b": 0}}),  # headless
        ("1\t0\ta\t2\n", None, {"1": {"a": 2}}),
    ],
)
def test_each_form_of_qrels_is_read(tmp_path: Path, content: str, lang: str | None, qrels: Qrels) -> None:
    (tmp_path / "q").write_text(content)
    assert read_qrels(tmp_path / "q", only_language=lang) == qrels


@pytest.mark.parametrize("header", ["query-id,corpus-id,score\n", ""])
def test_qrels_in_csv_are_read(tmp_path: Path, header: str) -> None:
    (tmp_path / "q.csv").write_text(f'{header}1,d1,2\n1,"d 2",0\n')
    assert read_qrels(tmp_path / "q.csv") == {"1": {"d1": 2, "d 2": 0}}


def test_qrels_in_json_are_those_of_pytrec_eval(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 a 2\n1 0 b 0\n007 0 NA -1\n")
    with (tmp_path / "q").open() as lines:
        theirs = pytrec_eval.parse_qrel(lines)
    (tmp_path / "q.json").write_text(json.dumps(theirs))
    (tmp_path / "q.json.gz").write_bytes(gzip.compress(json.dumps(theirs, indent=1).encode()))
    for name in ("q", "q.json", "q.json.gz"):
        assert read_judgements(tmp_path / name) == theirs
    for wrong in ("[1]", '{"1": 2}', '{"1": {"a": 0.5}}', '{"1": {"a": true}}', "{"):
        (tmp_path / "q.json").write_text(wrong)
        with pytest.raises(HeedError, match=r'q.json: .*; expected grades by docid by qid, as {"1": {"d1": 2}}'):
            read_judgements(tmp_path / "q.json")


def test_a_run_as_qrels_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 Q0 a 1 2.0 t\n" * 3)
    with pytest.raises(HeedError) as caught:
        read_qrels(tmp_path / "q")
    expected = "line 1: 6 columns, as a run has; expected judgements: topic 0 docid grade"
    assert str(caught.value) == f"{tmp_path}/q, {expected}"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("qid\tdocid\tscore\n1\ta\n", "line 2: 2 columns, expected 3 (qid docid score)"),
        ("qid\tdocid\tscore\textra words\n1\ta\t1\n", "line 2: 3 columns, expected 4 (qid docid score extra words)"),
        ("1\ta\t1\n1\tb\tx\n", "line 2: grade 'x', expected a whole number; round it first"),
        ("qid\tsomething\tscore\n", "line 1: 3 columns, expected 4 (topic 0 docid grade)"),
    ],
)
def test_bad_lines_of_tables_of_qrels_are_told(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "q").write_text(content)
    with pytest.raises(HeedError) as caught:
        read_qrels(tmp_path / "q")
    assert str(caught.value) == f"{tmp_path}/q, {said}"


def test_every_bad_line_of_qrels_is_told(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 a\n1 0 b 1.5\n1 0 c 1\n1 0 c 0\n")
    with pytest.raises(HeedError) as caught:
        read_qrels(tmp_path / "q")
    assert [line.split(": ")[0].split(", ")[1] for line in str(caught.value).splitlines()] == [
        "line 1",
        "line 2",
        "line 4",
    ]


def test_repeated_judgements_count_once_and_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n1 0 a 1\n1 0 b 0\n")
    assert read_qrels(tmp_path / "q") == {"1": {"a": 1, "b": 0}}
    assert "1 judgements are repeated with the same grade and count once" in capsys.readouterr().err


def test_the_official_neuclir_qrels_are_read_in_full(shared: Path) -> None:
    # NeuCLIR 2022's sizes in ir_datasets and the track's files: 36,575 / 34,174 / 33,006 judgements
    sizes = {}
    for short in ("zh", "fa", "ru"):
        qrels = read_qrels(shared / "neuclir22" / f"qrels.neuclir22-{short}.txt.gz")
        sizes[short] = sum(map(len, qrels.values()))
    assert sizes == {"zh": 36575, "fa": 34174, "ru": 33006}


def test_qrels_are_written_with_their_topics_in_order_and_read_back(tmp_path: Path) -> None:
    qrels = {"b": {"z": 2, "a": -1}, "a": {"007": 0}}
    write_qrels(tmp_path / "q", qrels)
    assert (tmp_path / "q").read_text() == "a 0 007 0\nb 0 z 2\nb 0 a -1\n"
    for name in ("a.gz", "b.gz"):
        write_qrels(tmp_path / name, qrels)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert read_qrels(tmp_path / "a.gz") == qrels


@pytest.mark.parametrize(
    ("qrels", "said"),
    [
        ({"1 2": {"a": 1}}, "qid '1 2' holds white space"),
        ({"1": {"": 1}}, "docid '' holds white space, is empty"),
        ({"#1": {"a": 1}}, "qid '#1' .* begins a comment"),
        ({}, "there is no judgement to write"),
        ({"1": {}}, "there is no judgement to write"),
    ],
)
def test_qrels_that_no_file_can_hold_are_refused(tmp_path: Path, qrels: Qrels, said: str) -> None:
    with pytest.raises(HeedError, match=said):
        write_qrels(tmp_path / "q", qrels)
    assert not (tmp_path / "q").exists()


def test_a_pool_is_written_in_its_form_and_every_bad_line_is_told(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    write_pool(path, {"007": ["b", "a"]})
    assert path.read_text() == '{"qid": "007", "docids": ["b", "a"]}\n'
    assert read_pool(path) == {"007": ["b", "a"]}
    records = [{"qid": "1", "docids": ["a"]}, {"qid": 2}, {"qid": "3"}, {"qid": "1", "docids": []}]
    write_jsonl(path, [*records, {"qid": "4", "docids": ["a", "b", "a"]}])
    with pytest.raises(HeedError) as caught:
        read_pool(path)
    assert str(caught.value).splitlines() == [
        f"{path}, line 2: qid is 2, expected a word",
        f"{path}, line 3: docids of topic 3 must be a list of ids",
        f"{path}, line 4: topic 1 comes twice; keep one line",
        f"{path}, line 5: document a comes twice in topic 4; keep one",
    ]
    path.write_text("")
    topics = tmp_path / "topics.jsonl"
    topics.write_text('{"qid": "1", "query": "a"}\n' * 8)
    with pytest.raises(HeedError, match=r"topics\.jsonl: found .*, expected a pool"):
        read_pool(topics)
    with pytest.raises(HeedError, match="holds no pool lines"):
        read_pool(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q", "1 0 d -2\n"),
        ("q.tsv", "1\td\t-2\n"),
        ("q.json", '{"1": {"d": -2}}'),
        ("q.jsonl", '{"query-id": "1", "corpus-id": "d", "score": -2}\n'),
    ],
)
def test_negative_grades_are_told_of_in_every_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    assert read_judgements(tmp_path / name) == {"1": {"d": -2}}
    assert "negative grades (-2) are not judged, as in trec_eval" in capsys.readouterr().err
