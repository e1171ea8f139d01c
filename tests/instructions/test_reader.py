"""How instructions are read: by the reader that Heed has, and by a tiny one with weights at random."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from conftest import ROOT
from hypothesis import example, given
from hypothesis import strategies as st
from readings import read_topic

import heed
from benchmarks import reader as benchmark
from heed.errors import ModelError
from heed.files import digest_json
from heed.instructions.reader import FILES, STEP, WINDOW, Reader, read_instruction, reader_at
from heed.progress import gathering
from heed.reuse import queries_digest
from heed.types import KINDS, Query, Span

TINY = ROOT / "tests" / "data" / "tiny_reader"
STORMS = "I want to know how the rescue went. Leave out accidents caused by storms."
READERS = pytest.mark.parametrize("folder", [None, TINY], ids=["heed", "tiny"])


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(TINY, tmp_path / "reader"))


def read_as(kind: str, text: str) -> str:
    return " ".join(text[span.start : span.end] for span in read_instruction(text) if span.kind == kind)


@READERS
@given(text=st.text(st.characters(codec="utf-8")) | st.text("aб不 \n.-'’‌\u0301\u00ad😀<b>&amp;", max_size=80))
@example("")
@example(" \n ")
@example("...")
@example("😀 tugs &amp; <b>rafts</b>, never\r\nbarges 😀")
@example('00"000000"""""0AAmmباسل 1㐀')
def test_spans_cover_any_text_one_after_the_other(folder: Path | None, text: str) -> None:
    spans = reader_at(folder).spans(text)
    assert "".join(text[span.start : span.end] for span in spans) == text
    assert [span.start for span in spans[1:]] == [span.end for span in spans[:-1]]
    assert all(span.start < span.end and span.kind in KINDS and span.cue is None for span in spans)


SENTENCES = {
    "eng": (STORMS, "rescue", "storms"),
    "zho": ("请找出关于救援过程的报道。由暴风雨引起的事故不相关。", "救援", "暴风雨"),
    "fas": ("گزارش‌هایی دربارهٔ عملیات نجات مرتبط است. حوادث ناشی از طوفان مرتبط نیست.", "نجات", "طوفان"),
    "rus": ("Нужны статьи о ходе спасения. Аварии из-за шторма не подходят.", "спасения", "шторма"),
    "deu": ("Gesucht sind Berichte über die Rettung. Unfälle durch Sturm sind nicht relevant.", "Rettung", "Sturm"),
    "fra": ("Je cherche des articles sur le sauvetage. Les tempêtes ne sont pas pertinentes.", "sauvetage", "tempêtes"),
    "spa": ("Interesan las noticias sobre el rescate. Las tormentas no son relevantes.", "rescate", "tormentas"),
    "ara": ("أبحث عن مقالات حول عملية الإنقاذ. الحوادث الناجمة عن العواصف ليست ذات صلة.", "الإنقاذ", "العواصف"),
}


@pytest.mark.parametrize("lang", SENTENCES)
def test_clear_sentences_are_read(lang: str) -> None:
    text, wanted, unwanted = SENTENCES[lang]
    with gathering([]) as warnings:
        assert heed.read_instruction(text, lang) == read_instruction(text)
    assert warnings == []
    assert wanted in read_as("asked", text) and unwanted in read_as("excluded", text)
    assert wanted not in read_as("excluded", text) and unwanted not in read_as("asked", text)


def test_offsets_count_the_characters_of_the_text_as_it_is_given() -> None:
    for text in (STORMS, f"😀 {STORMS}", STORMS.replace("storms", "st\u00adorms"), STORMS.replace(" ", "\n  ")):
        [excluded] = [span for span in read_instruction(text) if span.kind == "excluded"]
        assert text[excluded.start : excluded.end].endswith(("storms.", "st\u00adorms."))


@READERS
@pytest.mark.parametrize(
    "written",
    [
        lambda text: text.replace(" ", "\r\n  "),
        lambda text: text.replace("&", "&amp;").replace("'", "&apos;"),
        lambda text: text.replace("storms", "<b>storms</b>").replace("how", "<i class='x'>how</i>"),
        lambda text: text.replace("'", "’"),
    ],
    ids=["wrapped", "entities", "tags", "apostrophes"],
)
def test_line_breaks_entities_and_tags_are_not_read(folder: Path | None, written: Callable[[str], str]) -> None:
    text = "I want to know how the crew's rescue & salvage went. Leave out accidents caused by storms."
    plain, other = (reader_at(folder).parts(Query("1", instruction=each)) for each in (text, written(text)))
    assert plain == other and len(plain) > 1


@pytest.mark.parametrize("count", [1, WINDOW, WINDOW + 1, STEP + WINDOW, STEP + WINDOW + 1, 3 * STEP + 7])
def test_long_texts_are_read_by_windows_that_overlap(count: int) -> None:
    tokens = [5 + number % 60 for number in range(count)]
    scores, whole = (Reader(TINY)._scores([0, *each, 2]) for each in (tokens, tokens[:WINDOW]))
    blank = scores[0]  # of the first token, which is never read
    assert scores.shape == (count + 2, 3) and (scores[1:-1] != blank).any(axis=1).all()
    kept = min(count, STEP + (WINDOW - STEP) // 2) if count > WINDOW else count
    assert (scores[1 : kept + 1] == whole[1 : kept + 1]).all()


def test_a_missing_damaged_or_foreign_file_is_named(copy: Path) -> None:
    for name in FILES:
        path = copy / name
        content = path.read_bytes()
        path.write_bytes(content[:-1] + b"?")
        with pytest.raises(ModelError, match=rf"^{path}: damaged, or of another reader: its SHA-256 begins \w{{8}},"):
            Reader(copy)
        path.unlink()
        with pytest.raises(ModelError, match=rf"^{path}: no such file; make the folder again"):
            Reader(copy)
        path.write_bytes(content)
    card = copy / "card.json"
    card.write_text(card.read_text().replace('"neutral"', '"other"'))
    with pytest.raises(ModelError, match=rf"^{card}: found kinds .*'other'.*, expected those of asked, excluded, neut"):
        Reader(copy)
    card.write_text("{}")
    with pytest.raises(ModelError, match=rf"^{card}: no card of a reader of instructions \(Object missing required"):
        Reader(copy)
    card.unlink()
    with pytest.raises(
        ModelError, match=rf"^{card}: no card of a reader of instructions \(No such file or directory\)"
    ):
        Reader(copy)


@pytest.mark.parametrize(("name", "program"), [("graph.onnx", "ONNX Runtime"), ("tokenizer.json", "tokenizers")])
def test_a_file_that_its_program_cannot_open_is_named(copy: Path, name: str, program: str) -> None:
    (copy / name).write_bytes(b"nothing")
    card = json.loads((copy / "card.json").read_text())
    card["digests"][name] = sha256(b"nothing").hexdigest()
    (copy / "card.json").write_text(json.dumps(card))
    with pytest.raises(ModelError, match=rf"^{copy / name}: {program} [\d.]+ cannot open it \("):
        Reader(copy).spans("tugs")


def test_words_are_read_alike_from_run_to_run() -> None:
    program = f"""
from heed.instructions.reader import Reader, WEIGHTS
from pathlib import Path
for folder in (WEIGHTS, Path({str(TINY)!r})):
    reader = Reader(folder)
    print(reader._scores(reader._tokenizer.encode({STORMS!r}).ids).tobytes().hex())
"""
    command = [sys.executable, "-c", program]
    runs = [subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert runs[0] == runs[1] and len({*runs[0].split()}) == 2


def test_a_language_that_the_reader_does_not_know_is_read_with_a_warning() -> None:
    with gathering([]) as warnings:
        spans = read_instruction("Acha mashua za uvuvi.", "swa")
    assert spans[-1].end == 21
    assert len(warnings) == 1 and "was not trained on Swahili" in warnings[0] and "ara, deu, eng" in warnings[0]


def test_a_persons_reading_wins() -> None:
    query = read_topic("boats", original="Tugs{ &amp; }[-leave out rafts-]").under("original")
    assert reader_at().parts(query) == [("asked", "Tugs"), ("neutral", "&"), ("excluded", "leave out rafts")]
    assert reader_at().text_of(query, "excluded") == "leave out rafts"


def test_another_reader_is_another_recipe_and_gives_other_scores(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    card = json.loads((copy / "card.json").read_text())
    (copy / "card.json").write_text(json.dumps(card | {"favour": [0.0, 9.0, 0.0]}))  # all is excluded
    news, configs, scores = heed.load("neuclir-sample", lang="eng"), set(), []
    for reader in (None, str(TINY), str(copy)):
        with heed.Experiment(news, compute=heed.Compute(reader=reader)) as experiment:
            polarity = experiment.reranker("polarity")
            documents = list(experiment.documents)
            queries = [news.topics[0].under(name) for name in ("query", "original", "changed")]
            scores.append([polarity.score(query, documents) for query in queries])
            configs.add(digest_json(polarity.config))
    (query, original, changed), tiny, excluding = scores
    assert len(configs) == 3 and query == tiny[0] == excluding[0]  # without an instruction nothing is read
    assert len({tuple(each) for each in (original, changed, *tiny[1:], *excluding[1:])}) == 6


def test_queries_without_a_reading_have_the_digest_of_the_time_before_readings() -> None:
    fields = ["1", "ferries tugs", "ferries", "tugs", "eng", "original"]
    query = Query(*fields)
    assert queries_digest([query]) == digest_json([fields])
    assert queries_digest([query._replace(reading=(Span(0, 4, "asked"),))]) != digest_json([fields])


class Fixed:
    """A reader that gives the same spans whatever it reads."""

    def __init__(self, *spans: Span) -> None:
        self._spans = spans

    def as_given(self, text: str) -> tuple[Span, ...]:
        return self._spans


def test_the_benchmark_counts_content_words() -> None:
    text, squeezed = "Wanted tugs.\nLeave  out old rafts.", "Wanted tugs. Leave out old rafts."
    spans = [{"class": "N", "start": 13, "end": 22}, {"class": "E", "start": 23, "end": 32}]
    row = {"lang": "eng", "text": text, "squeezed": squeezed, "spans": spans}
    read = Fixed(Span(0, 13, "excluded"), Span(13, 28, "asked"), Span(28, 34, "excluded"))
    # of "old rafts" one is found and one missed, "Wanted tugs" are excluded: 1 / 3, 1 / 2, 2 / 5
    score = benchmark.scored(read, row)  # type: ignore[arg-type]
    assert score[:3] == (1, 1, 2)
    assert benchmark.line("English", [score])[:8] == ["English", "1", "33.3", "50.0", "40.0", "0.0", "0.0", "100.0"]
