"""What fuzzing and hostile files found in Heed's readers, one test for each; see ``hardening``."""

import gzip
import io
import json
import re
import shutil
import time
import zipfile
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl
from model_inputs import CPU, queries
from openai_server import Reply
from openai_server import Server as OpenAi
from tiny_language_models import llama_tokenizer

from hardening.hostile_files import ODD, PACKERS, greedy, odd_archive
from hardening.tiny import tiny_models
from heed import files
from heed.addons.apis import client as api
from heed.addons.apis.client import Client, endpoint
from heed.addons.judging.exchange import judgements
from heed.addons.judging.exchange.judgements import read_labels
from heed.addons.submission.package import read_form
from heed.datasets.followtable import RAW, read_followtable
from heed.datasets.irds import _member
from heed.errors import HeedError
from heed.files import parse_json, read_bytes, read_lines
from heed.formats.data_sets import grades_of, read_listed, rows
from heed.formats.documents import Files
from heed.formats.run_formats import read_any_run
from heed.formats.topics import read_neuclir_topics, read_topics, recognised
from heed.formats.trec_files import read_pool, read_qrels
from heed.models.encoders import SentenceEncoder
from heed.models.files import local_copy
from heed.models.registry.entries import Model, Registry
from heed.models.rerankers import listwise_local
from heed.models.rerankers.listwise_local import LocalChat
from heed.process import within
from heed.progress import log
from heed.tables.markup import parse_table

HALF = "half of a surrogate pair"


def test_a_line_beyond_the_limit_is_an_error_and_never_whole_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 10)
    path = tmp_path / "a.txt"
    path.write_bytes(b"123456789\n" + b"x" * 11 + b"\n")
    with pytest.raises(HeedError, match="a.txt, line 2: longer than 10 bytes"):
        list(read_lines(path))
    path.write_bytes(b"123456789\n" * 2 + b"1234567890")
    assert [line for _, line in read_lines(path)] == ["123456789", "123456789", "1234567890"]


@pytest.mark.parametrize("form", PACKERS)
def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setattr(files, "LARGEST", 3 << 20)
    path = tmp_path / "a.json"
    path.write_bytes(PACKERS[form](bytes(3 << 20)))
    assert len(read_bytes(path)) == 3 << 20
    path.write_bytes(PACKERS[form](bytes((3 << 20) + 1)))
    with pytest.raises(HeedError, match=f"a.json: unpacked more than {3 << 20} bytes"):
        read_bytes(path)
    monkeypatch.setattr(files, "LONGEST_LINE", 2 << 20)
    with pytest.raises(HeedError, match=f"a.json, line 1: longer than {2 << 20} bytes"):
        list(read_lines(path))


@pytest.mark.parametrize(("form", "said"), [("xz", "Memory usage limit"), ("zstd", "too much memory")])
def test_a_file_that_asks_for_gigabytes_to_be_unpacked_is_an_error(tmp_path: Path, form: str, said: str) -> None:
    (tmp_path / "a.run").write_bytes(greedy()[form])
    with pytest.raises(HeedError, match=rf"a.run: cannot be read \(.*{said}.*\); give a readable file"):
        read_bytes(tmp_path / "a.run")


def test_a_damaged_gzip_head_is_told_where_a_form_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "topics.txt.gz"
    path.write_bytes(gzip.compress(b"1\twater\n")[:10] + b"\xff" * 20)  # zlib.error, which is no OSError
    with pytest.raises(HeedError, match=r"topics.txt.gz: cannot be read \(Error -3"):
        recognised(path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"\\ud800"', HALF),
        ('{"\\udfff": 1}', HALF),
        ('[["a\\uD83d"]]', HALF),
        ("[" * 100_000, "nested too deep"),  # no RecursionError
    ],
)
def test_half_a_surrogate_pair_and_deep_nesting_are_no_json(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_json(text)
    assert parse_json('["\\ud83d\\ude00", "\\\\ud800"]') == ["😀", "\\ud800"]


def test_readers_of_json_lines_refuse_text_that_no_file_can_hold(tmp_path: Path) -> None:
    def line(text: str) -> Path:
        path = tmp_path / "a.jsonl"
        path.write_text(text + "\n", encoding="utf-8")
        return path

    with pytest.raises(HeedError, match=f"a.jsonl, line 1: not JSON \\({HALF}"):
        read_listed(line('{"query-id": "\\ud800", "corpus-ids": []}'))
    with pytest.raises(HeedError, match=HALF):
        read_pool(line('{"qid": "1", "docids": ["\\ud800"]}'))
    with pytest.raises(HeedError, match=HALF):
        read_topics(line('{"qid": "1", "query": "\\ud800"}'), "eng", "title", "heed")
    with pytest.raises(HeedError, match=HALF):
        read_any_run(line('{"query": {"qid": "\\ud800"}, "candidates": [{"docid": "d", "score": 1}]}'))
    with pytest.raises(HeedError, match=HALF):
        read_labels([line('{"qid": "1", "docid": "d", "grade": "\\ud800"}')])
    raw = line('[{"query": "\\ud800", "query_positive": [], "outs": []}]')
    with pytest.raises(HeedError, match=HALF):
        read_followtable(raw.replace(tmp_path / RAW).parent)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"topic_id": "1", "topics": ["eng"]}, "topics is ['eng'], expected a list of objects"),
        ({"topic_id": "1", "topics": 5}, "topics is 5, expected a list of objects"),
        ({"topic_id": "1", "topics": [{"topic_narrative": 5}]}, "topic 1: a topic_narrative is no text"),
        ({"topic_id": "1", "narratives": ["a"]}, "narratives is ['a'], expected an object"),
        ({"topic_id": "1", "narratives": {"zho": {"very_valuable": 5}}}, "narratives hold {'very_valuable': 5}"),
        ({"topic_id": "1", "narratives": {"zho": "a text"}}, "narratives hold 'a text', expected texts by level"),
        ({"topic_id": ["1"]}, "topic_id is ['1'], expected a word"),
        ({"topic_id": "1 2"}, "topic_id is '1 2', expected a word"),
    ],
)
def test_neuclir_topics_of_another_form_are_told(tmp_path: Path, record: object, said: str) -> None:
    path = write_jsonl(tmp_path / "topics.jsonl", [record])
    with pytest.raises(HeedError) as error:
        read_neuclir_topics(path, "eng", collection="zho")
    assert str(error.value).startswith(f"{path}, line 1: ") and said in str(error.value)


def test_mteb_predictions_of_another_form_are_told(tmp_path: Path) -> None:
    path = tmp_path / "predictions.json"
    path.write_text('{"default": {"test": "x"}}')
    with pytest.raises(HeedError, match="no run in it; expected"):
        read_any_run(path)


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ([], "no object of objects"),
        ({"a": 5}, "no object of objects"),
        ({"a": {"family": 5}}, "a: family is 5, expected `str`, got `int`"),
        ({"a": {"max_length": "512"}}, "a: max_length is '512', expected `int | null`, got `str`"),
        ({"a": {"max_length": True}}, "a: max_length is True"),
        ({"a": {"tokens": ["a", "b", "c"]}}, "a: tokens is ['a', 'b', 'c'], expected two, for no and yes, or the one"),
        ({"a": {"tokens": []}}, "a: tokens is [], expected two"),
        ({"a": {"tokens": ["no", 1]}}, "a: tokens is ['no', 1]"),
        ({"a": {"tokens": "no"}}, "a: tokens is 'no'"),
        ({"a": {"needs": [1]}}, "a: needs is [1]"),
        ({"a": {"presets": {"p": 5}}}, "a: presets is {'p': 5}"),
        ({"a": {"pooling": ["mean"]}}, "a: pooling ['mean'], expected one of"),
    ],
)
def test_entries_with_values_of_another_kind_are_told(tmp_path: Path, models: object, said: str) -> None:
    path = tmp_path / "models.json"
    path.write_text(json.dumps(models))
    with pytest.raises(HeedError) as error:
        Registry([path])
    assert str(error.value).startswith(str(path)) and said in str(error.value)


def test_entries_take_what_their_fields_take(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    entry = {"tokens": ["no", "yes"], "price": [1, 2.5], "needs": ["peft"], "presets": {"p": {"family": "causal"}}}
    path.write_text(json.dumps({"a": entry | {"max_length": None}}))
    model = Registry([path]).entries["a"]
    assert model.tokens == ("no", "yes") and model.price == (1, 2.5)


@pytest.mark.parametrize("text", ["runs: &a [{run: x, task: *a}]\n", "a: &a {x: 1}\nb: {<<: *a}\nruns: []\n"])
def test_a_form_with_an_alias_is_refused(tmp_path: Path, text: str) -> None:
    """Aliases of aliases can stand for more than any memory holds."""
    (tmp_path / "form.yml").write_text(text)
    with pytest.raises(HeedError, match="form.yml: found an alias"):
        read_form(tmp_path / "form.yml")


@pytest.mark.parametrize("text", ["!!timestamp x", "!!bool x", "!!int ''", "!!float x", "!!binary é"])
def test_a_tag_that_the_text_does_not_fit_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "form.yml").write_text(f"runs:\n- run: {text}\n", encoding="utf-8")
    with pytest.raises(HeedError, match="form.yml: neither YAML nor JSON"):
        read_form(tmp_path / "form.yml")


def test_label_studio_values_of_another_form_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for value in ([1], {"choices": 5}):
        result = {"type": "choices", "from_name": "grade", "value": value}
        path.write_text(json.dumps([{"data": {"qid": "1", "docid": "d"}, "annotations": [{"result": [result]}]}]))
        with pytest.raises(HeedError, match="a.json, item 1: "):
            read_labels([path])


def test_a_cell_and_a_line_of_csv_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 100)
    monkeypatch.setattr(judgements, "LONGEST_LINE", 100)
    path = tmp_path / "a.csv"
    path.write_text("qid,docid,grade\n1,d,2\n1,e," + "x" * 100 + "\n")
    with pytest.raises(HeedError, match="a.csv, line 3: longer than 100 bytes"):
        read_labels([path])
    path.write_text("x" * 101)
    with pytest.raises(HeedError, match="a.csv, line 1: longer than 100 bytes"):
        read_labels([path])


def _workbook(path: Path, name: str, content: bytes) -> Path:
    from openpyxl import Workbook

    book, made = Workbook(), io.BytesIO()
    book.active.append(["qid", "docid", "grade"])
    book.save(made)
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for one in source.namelist():
            target.writestr(one, content if one == name else source.read(one))
    return path


@pytest.mark.parametrize("name", ["xl/workbook.xml", "[Content_Types].xml", "xl/worksheets/sheet1.xml"])
def test_a_damaged_workbook_is_told(tmp_path: Path, name: str) -> None:
    path = _workbook(tmp_path / "a.xlsx", name, b"<a><b></a>")
    with pytest.raises(HeedError, match="a.xlsx: not an Excel workbook"):
        read_labels([path])


def test_a_workbook_that_unpacks_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judgements, "LARGEST", 1 << 20)
    path = _workbook(tmp_path / "a.xlsx", "xl/worksheets/sheet1.xml", bytes(2 << 20))
    with pytest.raises(HeedError, match="a.xlsx: unpacks to .* split the workbook"):
        read_labels([path])


@pytest.mark.parametrize("kind", ODD)
def test_an_archive_gives_no_link_and_its_damage_is_told(tmp_path: Path, kind: bytes | None) -> None:
    with pytest.raises(HeedError, match="a.tar: "):
        list(_member(odd_archive(tmp_path / "a.tar", kind), "qrels.zho"))


@pytest.mark.parametrize("record", ['{"\\ud800": 1}', '{"id": "d", "title": ["\\ud800"], "text": "x"}'])
def test_half_a_pair_in_another_field_reaches_no_message(tmp_path: Path, record: str) -> None:
    (tmp_path / "d.jsonl").write_text(f"{record}\n")
    [line] = Files([tmp_path / "d.jsonl"]).lines()
    assert line.problem.startswith(f"not JSON ({HALF}") and line.problem.encode()


def test_ids_with_control_characters_are_refused_where_they_are_read(heed: Heed, tmp_path: Path) -> None:
    [line] = Files([write_jsonl(tmp_path / "d.jsonl", [{"id": "a\x1b[2J", "text": "water"}])]).lines()
    assert line.problem.startswith("id is 'a\\x1b[2J', expected a word")
    (tmp_path / "a.qrels").write_text("1 0 a\x07 1\n")
    with pytest.raises(HeedError, match="a.qrels, line 1: holds a control character"):
        read_qrels(tmp_path / "a.qrels")
    # the report refused such a topic after all work was done
    write_jsonl(tmp_path / "d.jsonl", [{"id": "a", "text": "water"}])
    write_jsonl(tmp_path / "t.jsonl", [{"qid": "1\x07", "query": "water"}])
    result = heed("pipelines.trec", "--docs", "d.jsonl", "--topics", "t.jsonl", "--retriever", "lsa", "--quiet")
    assert (result.returncode, result.stderr) == (
        1,
        "error: topic '1\\x07': its id holds a control character, which no report shows; rename the topic\n",
    )


def test_nothing_that_is_told_moves_a_terminal(heed: Heed, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.run").write_text("1 Q0 \x1b[2J\u202e 1 1 t\n1 Q0 \x1b[2J\u202e 2 1 t\n", encoding="utf-8")
    result = heed("pipelines.compare", "a.run", "a.run", "--qrels", "a.run")
    assert result.returncode == 1 and "document \\x1b[2J\\u202e is listed again" in result.stderr
    log.info("topic \x1b]0;a\x07 中国 نه‌تنها\tand")
    assert capsys.readouterr().err == "topic \\x1b]0;a\\x07 中国 نه‌تنها\tand\n"


@pytest.mark.parametrize(
    "text",
    [
        "<tr>" + "<td>" * 2000 + "</tr>" + "<tr><td rowspan=0>" * 2000,  # 4 million cells in 36 kB took a minute
        "<table>" + "<tr><td>x<td colspan=1000 rowspan=65534>" * 2000 + "</table>",
        "|" + "a|" * 2000 + "\n" + "|b\n" * 2000,
    ],
    ids=["ragged", "stairs of spans", "ragged Markdown"],
)
def test_a_table_of_far_more_cells_than_its_text_is_refused(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(HeedError, match="cells are read of"):
        parse_table(text)
    assert time.process_time() - begun < 5


def test_a_table_that_fills_its_grid_may_be_large() -> None:
    table = parse_table("\n".join(["a,b,c"] * 200_000))
    assert (len(table.header), len(table.body)) == (1, 199_999)


LOOP = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


def test_a_chat_template_without_an_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listwise_local, "TEMPLATE_TIME", 0.2)
    tokenizer = llama_tokenizer()
    tokenizer.chat_template = LOOP
    tokenizer.save_pretrained(tmp_path / "endless")
    chat = LocalChat(Model(str(tmp_path / "endless")), CPU)
    with pytest.raises(HeedError, match=r"endless: its chat template cannot be used \(no end within 0.2 s\)"):
        chat.text([{"role": "system", "content": "s"}, {"role": "user", "content": "water"}])


def test_a_deadline_leaves_no_alarm_behind() -> None:
    with within(0.05):
        pass
    time.sleep(0.1)
    with pytest.raises(TimeoutError, match="no end within 0.05 s"), within(0.05):
        time.sleep(5)


def test_a_deadline_inside_of_another_leaves_it_as_it_was() -> None:
    with pytest.raises(TimeoutError, match="no end within 0.3 s"), within(0.3):
        with pytest.raises(ZeroDivisionError), within(0.05, ZeroDivisionError):
            time.sleep(5)
        with within(60):
            pass
        time.sleep(5)


def test_a_parquet_file_with_texts_in_no_encoding_is_an_error(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    offsets, letters = pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xc7x")
    broken = pa.Array.from_buffers(pa.string(), 1, [None, offsets, letters])
    parquet.write_table(pa.table({"query-id": broken, "corpus-id": ["a"], "score": [1]}), tmp_path / "qrels.parquet")
    with pytest.raises(HeedError, match="qrels.parquet: not a whole Parquet file .*utf-8.*; fetch it again"):
        grades_of(rows(tmp_path, "qrels"))


BAD_JSON = {"cut": '{"a": ', "list": "[1, 2]", "null": "null", "deep": "[" * 100_000, "empty": ""}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    tiny_models(folder)
    return folder


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "tokenizer_config.json", "modules.json"])
@pytest.mark.parametrize("what", BAD_JSON)
def test_a_broken_file_of_a_model_is_named(models: Path, tmp_path: Path, name: str, what: str) -> None:
    """They were internal errors of transformers: 'NoneType' object is not iterable, KeyError added_tokens."""
    folder = tmp_path / "bi"
    shutil.copytree(models / "bi", folder)
    (folder / name).write_text(BAD_JSON[what])
    with pytest.raises(HeedError, match=rf"bi/{name}: (not JSON|found \w+, expected )"):
        SentenceEncoder(Model(str(folder)), CPU).encode_queries(queries([("water", "")]))


def test_all_broken_files_of_a_model_are_named_at_once_and_read_again_when_mended(models: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bi"
    shutil.copytree(models / "bi", folder)
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[:-1])
    (folder / "tokenizer.json").write_text("[]")
    with pytest.raises(HeedError) as caught:
        local_copy(Model(str(folder)))
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert re.match(r".*bi/model\.safetensors: not whole safetensors \(.*\); fetch the file again", lines[0])
    assert "bi/tokenizer.json: found list, expected an object" in lines[1]
    shutil.copy(models / "bi/tokenizer.json", folder)
    (folder / "model.safetensors").write_bytes(weights)
    assert local_copy(Model(str(folder))) == folder


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_beyond_the_limit_is_not_read(packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server, or somebody in its place, could fill the memory; packed, a thousandth of the bytes would do."""
    monkeypatch.setattr(api, "LARGEST", 1 << 20)
    body = b"x" * ((1 << 20) + 1)
    headers = (("Content-Encoding", "gzip"),) if packed else ()
    with OpenAi().running() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        client = Client(endpoint(Model("text-embedding-3-small")))
        server.script = [Reply(body=gzip.compress(body) if packed else body, headers=headers)]
        with pytest.raises(HeedError, match=r"/embeddings: an answer of more than 1,048,576 bytes.*OPENAI_BASE_URL"):
            client.post("embeddings", {"input": []}, lambda found: found)
        assert server.calls == 1, "asked once: the next answer would be as large"
        server.script = [Reply(body=json.dumps("y" * 1000).encode())]
        assert client.post("embeddings", {"input": []}, lambda found: found) == "y" * 1000
