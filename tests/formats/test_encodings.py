"""Files that are not UTF-8: a byte-order mark, the language's encodings, near ties, and an encoding that is named."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest
import zstandard
from conftest import write_jsonl

from heed import load_files
from heed.data import Data
from heed.datasets.own_files import read_own
from heed.errors import DataError, UsageError
from heed.files import read_lines, read_objects, read_text
from heed.formats.data_sets import config_files
from heed.formats.documents import Files
from heed.formats.judgements import read_judgements
from heed.formats.run_formats import read_any_run
from heed.formats.topics import read_topics
from heed.formats.trec_files import read_qrels, read_run
from heed.languages import LANGUAGES
from heed.tables.documents import Tables

SENTENCES = Path(__file__).parents[1] / "data" / "languages" / "sentences.jsonl"
TEXTS = {record["lang"]: record["sentences"] for _, record in read_objects(SENTENCES)}
TEXTS["eng"] = ["“Ferries” aren’t safe – says the café’s naïve owner…", "The £5 fee is waived."]
CASES = [(lang, encoding) for lang in TEXTS for encoding in LANGUAGES[lang].encodings]
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
    "lz4": lz4.frame.compress,
}
CHINESE = "地震造成的伤亡\n人数是多少\n"


def in_encoding(lang: str, encoding: str) -> str:
    """Return ten sentences as a file of this encoding holds them, with the letters that it lacks replaced or left out.

    cp1256 has the Arabic yeh for the Persian one; cp1258 has Vietnamese tones as letters of their own.
    """
    return "\n".join(TEXTS[lang]).replace("ی", "ي").encode(encoding, "ignore").decode(encoding)


@pytest.mark.parametrize(("lang", "encoding"), CASES)
def test_ten_sentences_are_read_in_each_encoding_of_their_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lang: str, encoding: str
) -> None:
    text = in_encoding(lang, encoding)
    path = tmp_path / "topics.tsv"
    path.write_bytes(text.encode(encoding))
    assert "\n".join(line for _, line in read_lines(path, lang)) == text
    is_utf_8 = text.encode(encoding) == text.encode()
    assert ("not UTF-8, read as " in capsys.readouterr().err) != is_utf_8


@pytest.mark.parametrize(("lang", "encoding"), CASES)
def test_no_sentence_is_read_in_a_wrong_encoding(tmp_path: Path, lang: str, encoding: str) -> None:
    path, wrong, read = tmp_path / "a.txt", [], 0
    for text in in_encoding(lang, encoding).split("\n"):
        for written in (text, text.upper(), text.lower()):
            path.write_bytes(content := written.encode(encoding, "ignore"))
            try:
                read += 1
                if read_text(path, lang) != content.decode(encoding):
                    wrong.append(written)
            except DataError:
                read -= 1
    assert not wrong
    assert read > 0


@pytest.mark.parametrize("lang", TEXTS)
def test_damaged_utf_8_is_an_error_and_never_read_in_another_encoding(tmp_path: Path, lang: str) -> None:
    text = "\n".join(TEXTS[lang])
    if text.isascii():
        return
    (tmp_path / "a.txt").write_bytes(text.encode() + b"\n\xe9 x")
    with pytest.raises(DataError, match=rf"a.txt, line {text.count(chr(10)) + 2}: not UTF-8 .*give encoding=NAME"):
        read_text(tmp_path / "a.txt", lang)


def test_a_near_tie_is_an_error_and_a_named_encoding_decides(tmp_path: Path) -> None:
    """All letters of KOI8-R are letters in cp1251 too, and few of them say nothing."""
    path = tmp_path / "topics.tsv"
    path.write_bytes("1\tщи\n".encode("koi8_r"))
    said = r"topics.tsv, line 1: not UTF-8 \(invalid .*none of cp1251, koi8_r fits clearly\).* give encoding=NAME"
    with pytest.raises(DataError, match=said):
        read_topics(path, "rus", "title")
    assert read_topics(path, "rus", "title", encoding="koi8_r")[0].query == "щи"
    with pytest.raises(DataError, match="line 1: not ASCII"):
        read_topics(path, "rus", "title", encoding="ascii")
    for unknown in ("koi9", "hex"):
        with pytest.raises(UsageError, match=f"encoding: found '{unknown}', expected one such as gb18030"):
            read_topics(path, "rus", "title", encoding=unknown)


def test_quotation_marks_of_windows_are_no_control_characters(tmp_path: Path) -> None:
    path = tmp_path / "t.trec"
    path.write_bytes("<top>\n<num> 1\n<title> “rail” – no cars’\n</top>\n".encode("cp1252"))
    assert read_topics(path, "eng", "title")[0].query == "“rail” – no cars’"
    path.write_bytes("<top>\n<num> 1\n<title> don’t take “rail”\n</top>\n".encode("mac_roman"))
    with pytest.raises(DataError, match="none of cp1252 fits clearly"):
        read_topics(path, "eng", "title")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "gb18030"])
def test_one_place_decides_for_every_kind_of_file(tmp_path: Path, encoding: str) -> None:
    query = CHINESE.split("\n", 1)[0]

    def file(name: str, text: str) -> Path:
        (tmp_path / name).write_bytes((text + "\n").encode(encoding))
        return tmp_path / name

    mark = {"qid": "1", "query": query, "instructions": {"original": CHINESE}}
    topics = [file("t.tsv", f"1\t{query}"), file("t.jsonl", json.dumps(mark, ensure_ascii=False))]
    topics.append(file("t.trec", f"<top>\n<num> 1\n<title> {query}\n</top>"))
    assert [read_topics(path, "zho", "title")[0].query for path in topics] == [query] * 3
    document = json.dumps({"id": "文档", "text": CHINESE}, ensure_ascii=False)
    [line] = Files([file("d.jsonl", document)], "zho").lines()
    assert line.document and line.document[:3] == ("文档", "", CHINESE)
    [table] = Tables([file("tab.csv", f"{query},数量\n{CHINESE.split()[1]},2")], "raw", encoding="zho").lines()
    assert table.document and query in table.document.text
    named = encoding if encoding == "gb18030" else ""
    assert read_qrels(file("q.txt", "1 0 文档 2"), None, named) == {"1": {"文档": 2}}
    assert read_judgements(file("q.jsonl", '{"query-id": "1", "corpus-id": "文档", "score": 2}'), None, named)
    assert read_run(file("r.run", "1 Q0 文档 1 2.0 t"), named) == {"1": {"文档": 2.0}}
    results = [{"query": {"qid": "1"}, "candidates": [{"docid": "文档", "score": 2.0}]}]
    assert read_any_run(file("r.json", json.dumps(results, ensure_ascii=False)), None, named) == {"1": {"文档": 2.0}}
    own = Data((str(tmp_path / "d.jsonl"),), str(topics[1]), qrels=tmp_path / "q.txt", encoding=named)
    read, qrels, _ = read_own(own, "zho")
    assert (read[0].instructions["original"], qrels) == (CHINESE, {"original": {"1": {"文档": 2}}})


def test_files_of_a_data_set_are_read_as_others(tmp_path: Path) -> None:
    """The corpus was, but neither queries nor judgements."""
    rows = {
        "corpus": f'{{"_id": "文档", "text": "{CHINESE.split(maxsplit=1)[0]}"}}',
        "queries": f'{{"_id": "1", "text": "{CHINESE.split()[1]}"}}',
        "qrels/test": '{"query-id": "1", "corpus-id": "文档", "score": 1}',
    }
    (tmp_path / "qrels").mkdir()
    for name, row in rows.items():
        (tmp_path / f"{name}.jsonl").write_bytes(f"{row}\n".encode("gb18030"))
    collection = load_files(tmp_path, lang="zho", encoding="gb18030")
    assert [topic.query for topic in collection.topics] == [CHINESE.split()[1]]
    assert collection.judging.qrels == {"original": {"1": {"文档": 1}}}


def test_a_language_without_encodings_of_its_own_says_so_in_no_empty_list(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_bytes(b"1\t\xff\n")
    with pytest.raises(DataError, match=r"line 1: not UTF-8 \(invalid start byte\); .* give encoding=NAME"):
        read_topics(tmp_path / "t.tsv", "hin", "title")


def test_the_encoding_of_a_file_is_decided_once_by_its_first_lines_that_are_not_ascii(tmp_path: Path) -> None:
    path = tmp_path / "d.txt"
    path.write_bytes(b"only ASCII\n" * 200_000 + CHINESE.encode("gb18030") * 10 + "联通\n".encode("gb18030"))
    *_, (line_no, last) = read_lines(path, "zho")
    assert (line_no, last) == (200_021, "联通")  # whose four bytes are UTF-8 too
    path.write_bytes(CHINESE.encode() * 30_000 + CHINESE.encode("gb18030"))
    with pytest.raises(DataError, match=r"d.txt, line 60001: not UTF-8 \(invalid"):
        list(read_lines(path, "zho"))


def test_documents_read_in_a_named_encoding_are_others(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "d.jsonl", [{"id": "1", "text": "x"}])
    assert Files([path]).recipe == Files([path], "zho").recipe == Files([path], "zh").recipe
    assert Files([path], "big5").recipe != Files([path], "zho").recipe


@pytest.mark.parametrize("form", PACKERS)
def test_compression_is_known_by_the_first_bytes(tmp_path: Path, form: str) -> None:
    text = "1\t火车与汽车 " * 3 + "\n"
    content = (text * 50_000).encode()  # more than a piece
    for name in ("a.tsv", f"b.tsv.{form}", "c.tsv.gz"):
        (tmp_path / name).write_bytes(PACKERS[form](content[:1000]) + PACKERS[form](content[1000:]))
        assert read_text(tmp_path / name).encode() == content
        assert sum(1 for _ in read_lines(tmp_path / name)) == 50_000
    assert [path.name for path in config_files(tmp_path, "b")] == [f"b.tsv.{form}"]
    (tmp_path / "d.tsv").write_bytes(PACKERS[form](CHINESE.encode("utf-16")))
    assert read_text(tmp_path / "d.tsv") == CHINESE
    for kept in (-5, 200):
        (tmp_path / "e.tsv").write_bytes(PACKERS[form](content)[:kept])
        with pytest.raises(DataError, match=r"e.tsv: cannot be read .*; it is cut short: copy it again"):
            list(read_lines(tmp_path / "e.tsv"))


@pytest.mark.parametrize("form", PACKERS)
def test_forms_are_recognised_whatever_the_compression(tmp_path: Path, form: str) -> None:
    def file(name: str, text: str) -> Path:
        (tmp_path / f"{name}.{form}").write_bytes(PACKERS[form](text.encode()))
        return tmp_path / f"{name}.{form}"

    assert read_topics(file("t.tsv", "1\tq\n"), "eng", "title")[0].query == "q"
    assert read_topics(file("t.jsonl", '{"qid": "1", "query": "q"}\n'), "eng", "title")[0].query == "q"
    file("docs.jsonl", '{"id": "1", "text": "x"}\n')
    assert [line.document[:3] for line in Files([tmp_path]).lines() if line.document] == [("1", "", "x")]
    assert read_any_run(file("r.json", '[{"query": {"qid": "1"}, "candidates": [{"docid": "d", "score": 1}]}]'))
    [table] = Tables([file("tab.csv", "a,b\n1,2\n")], "raw").lines()
    assert table.document and table.document.docid == "tab"
