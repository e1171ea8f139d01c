"""TREC's documents in SGML, and the Washington Post's articles."""

import gzip
import random
import tarfile
from pathlib import Path

import pytest
from conftest import Heed, write_jsonl
from ir_datasets.util import sax_html_parser

from heed.errors import DataError
from heed.formats.document_store import FILE, DocumentStore, open_store
from heed.formats.documents import DocumentLine, Files, read_documents
from heed.retrieval.lucene import jvm
from heed.types import Document

# in the forms of TREC disks 4 and 5 (FT, LATIMES, FBIS, FR94), of WSJ and AQUAINT
NEWS = {
    "FT911-1": "<PROFILE>_AN-1</PROFILE>\n<DATE>910514\n</DATE>\n<HEADLINE>\nFT  14 MAY 91 / Ferry &amp; sinks\n"
    "</HEADLINE>\n<TEXT>\nA ferry sank in\nheavy seas.\n</TEXT>\n<PUB>The Financial Times\n</PUB>\n",
    "LA010189-0001": "<DOCID> 1 </DOCID>\n<DATE>\n<P>\nJanuary 1, 1989\n</P>\n</DATE>\n<HEADLINE>\n<P>\nPROTEST AT\n"
    "MINE\n</P>\n</HEADLINE>\n<TEXT>\n<P>\nCrowds marched. \n</P>\n<P>\nA &lt; B.\n</P>\n</TEXT>\n"
    "<GRAPHIC>Photo</GRAPHIC>\n",
    "FBIS3-1": "<HT> cr0</HT>\n<HEADER>\n<DATE1>  1 March </DATE1>\nArticle Type\n<H3> <TI>  Ports  </TI></H3>\n"
    "</HEADER>\n<TEXT>\nLanguage: <F P=105> English </F>\n<H5> Strike </H5>\nDockers.\n</TEXT>\n",
    "FR940104-0-1": "<PARENT> FR94 </PARENT>\n<TEXT>\n<!-- PJG FTAG 4700 -->\n<DOCTITLE>Lithium</DOCTITLE>\nRules.\n"
    "</TEXT>\n",
    "WSJ870324-0001": "<HL> Blue Arrow </HL>\n<DD> 03/24/87</DD>\n<LP> Lead.\n</LP>\n<TEXT>\n Rest.\n</TEXT>\n",
    "NYT19980601.0001": "<DOCTYPE> NEWS </DOCTYPE>\n<BODY>\n<HEADLINE>\nStorm\n</HEADLINE>\n<TEXT>\n<P>\nRain.\n</P>\n"
    "</TEXT>\n</BODY>\n",
}


def sgml(docno: str, rest: str) -> str:
    return f"<DOC>\n<DOCNO> {docno} </DOCNO>\n{rest}</DOC>\n"


def read(path: Path) -> list[DocumentLine]:
    return list(Files([path]).lines())


def documents(path: Path, content: str | bytes) -> list[tuple[str, ...]]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return [line.document[:3] if line.document else (f"line {line.line_no}", line.problem) for line in read(path)]


@pytest.mark.golden(program="ir-datasets 0.6.3", compared="the text of TREC documents", systems=())
@pytest.mark.parametrize("docno", NEWS)
def test_the_words_are_those_of_ir_datasets(tmp_path: Path, docno: str) -> None:
    """By its reader of disks 4 and 5, which has WSJ's HL in the text; it loses AP's HEAD, that of a page in HTML."""
    text = sgml(docno, NEWS[docno])
    fields = [
        {"docno"},
        {"headline", "title", "h3", "h4"},
        {"text", "hl", "head", "ttl", "dd", "date", "lp", "leadpara"},
    ]
    number, *texts = sax_html_parser(text.encode(), force_encoding="utf8", fields=fields)
    [document] = documents(tmp_path / "news", text)
    assert document[0] == number.strip() == docno
    assert sorted(" ".join(document[1:]).split()) == sorted(" ".join(texts).split())


def test_a_title_and_the_lines_of_a_text_are_read(tmp_path: Path) -> None:
    first = "FT911-1", "FT 14 MAY 91 / Ferry & sinks", "910514\nA ferry sank in\nheavy seas."
    lines = "".join(sgml(docno, rest) for docno, rest in NEWS.items())
    found = documents(tmp_path / "news.txt", lines)
    assert found[0] == first and [docid for docid, *_ in found] == list(NEWS)
    assert found[2][1] == "Ports"


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ('<?xml version="1.0"?>\n<root><doc>\n<docno>1</docno><title>a</title><author>b</author><text>c</text>\n'
         "</doc>\n</root>", ("1", "a", "c")),
        ("<DOC>\n<DOCNO>AP1</DOCNO>\n<FILEID>AP-1</FILEID>\n<HEAD>One</HEAD>\n<HEAD>Two</HEAD>\n<TEXT>\n x\n</TEXT>\n"
         "</DOC>",
         ("AP1", "One Two", "x")),
        ('<DOC id="NYT_ENG_1" type="story" >\n<TEXT>\n<P>x</P>\n</TEXT>\n</DOC>', ("NYT_ENG_1", "", "x")),
        ("<DOC><DOCNO>007</DOCNO>\nall of it <b>is</b> text\n</DOC>", ("007", "", "all of it is text")),
        ("<DOC>\n<DOCNO>GX1</DOCNO>\n<DOCHDR>\nhttp://x.gov 1.2.3.4\n</DOCHDR>\n<html><head><title>T</title><style>p{}"
         "</style></head>\n<body><h3>H</h3> b <script>no()</script></body></html>\n</DOC>", ("GX1", "T", "H b")),
        ("<DOC><DOCNO>1</DOCNO><TEXT>5&blank;A&hyph;B, AT&T, caf&eacute; 1 < 2</TEXT></DOC>",
         ("1", "", "5 A-B, AT&T, café 1 < 2")),
        ("<DOC><DOCNO>1</DOCNO><HEADLINE>open<TEXT>x</TEXT></DOC>", ("1", "open", "x")),
        ("\ufeff<DOC><DOCNO>1</DOCNO><TEXT></TEXT></DOC>", ("1", "", "")),
    ],
)  # fmt: skip
def test_other_forms(tmp_path: Path, text: str, document: tuple[str, str, str]) -> None:
    assert documents(tmp_path / "d.xml", text) == [document]


def test_the_encoding_is_decided_document_by_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ("某城发生地震，造成数十人伤亡", "火车与汽车在城市相撞", "联")
    encodings = ("utf-8", "gb18030", "gb18030")  # the last is too short to decide: as the one before
    path = tmp_path / "d"
    parts = zip("123", texts, encodings, strict=True)
    path.write_bytes(b"".join(sgml(docid, f"<TEXT>{text}</TEXT>\n").encode(name) for docid, text, name in parts))
    read = [line.document for line in read_documents(path, "zho") if line.document]
    assert [document.text for document in read] == [*texts]
    assert f"{path}: 2 documents that are not UTF-8, the first at line 5, read as gb18030" in capsys.readouterr().err
    line, *_ = [line for line in read_documents(path, "eng") if line.document is None]
    assert (line.line_no, "none of cp1252 fits clearly); give encoding=NAME" in line.problem) == (5, True)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("<DOC>\n<TEXT>x</TEXT>\n</DOC>", ["line 1: this <DOC> has no <DOCNO>"]),
        (sgml("a b", ""), ["line 1: <DOCNO> is 'a b', expected one word"]),
        (sgml("a", "") + "<DOC>\n<DOCNO>b</DOCNO>\n",
         ["line 4: <DOC> without </DOC>; the file is cut, or not the whole of it is here"]),
        ("<DOC>\n<DOC>\n<DOCNO>b</DOCNO></DOC>\n</DOC>", [
            "line 1: <DOC> without </DOC> before the next one, in line 2; add it",
            "line 4: found '</DOC>' outside of a <DOC>, expected <DOC> … </DOC>; is a part of the file missing?",
        ]),
        (sgml("a", "") + "left\nover\n",
         ["line 4: found 'left' outside of a <DOC>, expected <DOC> … </DOC>; is a part of the file missing?"]),
        (sgml("a", "") + sgml("a", ""), ["line 4: document a was already at {path}, line 1; keep one of them"]),
    ],
)  # fmt: skip
def test_a_fault_is_an_error_with_file_and_line(tmp_path: Path, text: str, problems: list[str]) -> None:
    path = tmp_path / "d.sgml"
    path.write_text(text)
    with pytest.raises(DataError) as error:
        open_store(tmp_path / "store", Files([path]))
    assert str(error.value) == "\n".join(f"{path}, {problem.format(path=path)}" for problem in problems)


def test_a_folder_is_read_whatever_its_files_are_called(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "disk4"
    (folder / "ft").mkdir(parents=True)
    (folder / "ft" / "ft911_1").write_text(sgml("1", ""))
    (folder / "ft" / "ft911_2.gz").write_bytes(gzip.compress(sgml("2", "").encode()))
    (folder / "readme").write_text("About <DOC>")
    (folder / "ft" / "empty").write_text("")
    assert [line.document.docid for line in read(folder) if line.document] == ["1", "2"]
    assert f"{folder}: 2 files are not read as documents: ft/empty, readme" in capsys.readouterr().err
    (folder / "ft" / "ft911_1").unlink()
    (folder / "ft" / "ft911_2.gz").unlink()
    with pytest.raises(DataError, match=r"disk4: no \.jsonl, .* and none that begins with TREC's <DOC>"):
        read(folder)


# of the kind of Anserini's WashingtonPostCollectionTest
ARTICLE: dict[str, object] = {
    "id": "5f992bbc-4b9f",
    "article_url": "https://www.washingtonpost.com/x.html",
    "title": "Controlled exposure to light can ease jet lag’s effects",
    "author": "Mike",
    "published_date": 1356999181000,
    "contents": [
        {"content": "National", "mime": "text/plain", "type": "kicker"},
        {"content": "Controlled exposure", "mime": "text/plain", "type": "title"},
        None,
        {"type": "image", "imageURL": "u", "blurb": "not read", "fullcaption": "A <i>traveller</i> &amp; his bag."},
        {"content": "Using light to help reset your body clock", "subtype": "subhead", "type": "sanitized_html"},
        {"content": '<b>When</b> traveling <a href="x">east</a>ward:', "type": "sanitized_html", "mime": "text/html"},
        {"content": "A few days before, <b>start</b> with a walk.", "type": "sanitized_html", "mime": "text/html"},
        {"content": "One<br>two", "type": "sanitized_html", "mime": "text/html"},
        {"content": None, "type": "sanitized_html"},
        {"content": {"text": "When you arrive", "user": {"screen_name": "a"}, "id_str": "1"}, "type": "tweet"},
        {"content": "By Mike", "type": "byline"},
        {"content": 1356999181000, "type": "date"},
    ],
}
OTHER = {"id": "b2", "article_url": "u", "title": None, "author": "", "published_date": 1, "contents": [None]}


@pytest.mark.golden(program="Anserini 1.7.1", compared="the text of the Washington Post's articles", systems=())
def test_articles_of_the_washington_post_have_the_words_of_anserini(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "wapo.jl", [ARTICLE, OTHER, {"id": "x", "text": ["a"]}])
    article, other, list_of_texts = read(path)
    paths = jvm.java("java.nio.file.Paths")
    segment = jvm.java("io.anserini.collection.WashingtonPostCollection$Segment")(paths.get(str(path)))
    theirs = segment.iterator().next().contents()
    assert article.document is not None and article.document.contents().split() == theirs.split()
    assert other.document == Document("b2", "", "")
    assert list_of_texts.problem.endswith("rename the field")


def test_articles_of_ir_datasets_are_read_as_those_of_files(tmp_path: Path, heed_process: Heed) -> None:
    path = write_jsonl(tmp_path / "wapo.jl", [ARTICLE, OTHER])
    name = "WashingtonPost.v2/data/TREC_Washington_Post_collection.v2.jl"
    (tmp_path / "irds" / "wapo").mkdir(parents=True)
    with tarfile.open(tmp_path / "irds" / "wapo" / "WashingtonPost.v2.tar.gz", "w:gz") as archive:
        archive.add(path, name)
    (tmp_path / "t.jsonl").write_text('{"qid": "1", "query": "east walk"}\n')
    told = {"IR_DATASETS_HOME": str(tmp_path / "irds")}
    shown = ("--topics", "t.jsonl", "--retriever", "bm25", "--reranker", "none")
    result = heed_process("pipelines.trec", "--docs", "wapo/v2", *shown, **told)
    assert result.returncode == 0, result.stderr
    [store] = (tmp_path / "indexes").rglob(FILE)
    assert list(DocumentStore(store.parent, "")) == [line.document for line in read(path)]


PIECES = ["<TEXT>", "</TEXT>", "<HEADLINE>", "</HEADLINE>", "<P>", "</p>", "<TEXT", "</", "<", ">", "&amp;", "\n"]
PIECES += ["<!-- c -->"]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_in_a_document_its_neighbours_are_read(tmp_path: Path, seed: int) -> None:
    """Shuffled and nested elements never hide a document; of a file that is cut, the whole documents are read."""
    chooser = random.Random(seed)
    texts = [sgml(str(number), " ".join(chooser.choices([*PIECES, "word"], k=30))) for number in range(10)]
    path = tmp_path / "d"
    found = documents(path, "".join(texts))
    assert [docid for docid, *_ in found] == [str(number) for number in range(10)]
    assert not any(mark in " ".join(entry) for entry in found for mark in ("<TEXT>", "</TEXT>", "<P>", "c --"))
    cut = chooser.randrange(1, sum(map(len, texts)))
    whole = next(number for number in range(11) if len("".join(texts[: number + 1])) > cut)
    left = documents(path, "".join(texts)[:cut])
    assert [entry for entry in left if len(entry) == 3] == found[:whole]
    assert len(left) <= whole + 1
