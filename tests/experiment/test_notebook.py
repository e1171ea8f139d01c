"""What a notebook and a terminal see: looks at documents, tables, charts, short texts, progress."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import heed
from heed import DataError, Document, Experiment, Query, Results, Run, UsageError
from heed.measures.summary import Detail
from heed.progress import bar, quiet

EVIL = "<script>alert(1)</script>"


class Backwards:
    """Scores documents by their ids."""

    name = "backwards"

    def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
        self.query = query
        return [float(document.docid[1:]) for document in documents]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Experiment]:
    folder = tmp_path_factory.mktemp("notebook")
    news = heed.load("neuclir-sample", lang="eng")
    with Experiment(news, indexes=folder / "indexes", out=folder / "runs") as experiment:
        yield experiment


def test_a_search_shows_the_best_documents_and_writes_no_run(experiment: Experiment) -> None:
    hits = experiment.search("ferry accidents, only with injured people", k=3)
    assert [hit.rank for hit in hits] == [1, 2, 3] and hits[0].docid == "n018"
    assert hits[0].title == "Coach crash at Croatian ferry terminal injures 18"
    assert hits[0].score > hits[1].score > hits[2].score
    lines = repr(hits).splitlines()
    assert lines[0].split() == ["rank", "docid", "score", "title"] and len(lines) == 4
    assert f'<td style="text-align: left">{hits[0].title}</td>' in hits._repr_html_()
    assert not list(experiment.folder.glob("*.run"))
    topic = experiment.collection.topics[0]
    run = experiment.retrieve("bm25")["changed"]
    assert experiment.search(topic.under("changed"), k=4) == experiment.hits(run, topic.qid, k=4)
    assert [hit.docid for hit in experiment.hits(run, topic.qid, k=4)] == run.ranking(topic.qid)[:4]


def test_a_search_takes_any_system_and_an_instruction(experiment: Experiment) -> None:
    backwards = Backwards()
    hits = experiment.search("ferry", k=2, reranker=backwards, instruction="Only storms.")
    assert backwards.query == Query("search", query="ferry", instruction="Only storms.")
    assert [hit.docid for hit in hits] == sorted((hit.docid for hit in hits), reverse=True)
    assert len(experiment.search("ferry", retriever="lsa")) == 5
    assert experiment.search("ferry", reranker="polarity")[0].rank == 1
    assert repr(experiment.search("xyzzy")).split() == ["rank", "docid", "score", "title"]
    with pytest.raises(UsageError, match="instruction beside a heed.Query"):
        experiment.search(Query("1", "ferry"), instruction="Only storms.")
    with pytest.raises(UsageError, match="depth: found 0"):
        experiment.search("ferry", k=0)


def test_a_query_is_made_of_its_parts() -> None:
    joined = Query("1", query="ferry", instruction="Only storms.")
    assert joined == ("1", "ferry Only storms.", "ferry", "Only storms.", "eng", "original", ())
    assert Query("1", "ferry") == Query("1", query="ferry") == ("1", "ferry", "ferry", "", "eng", "query", ())
    assert Query("1", "Only storms: ferry", "ferry", "Only storms", "fra", "changed").text == "Only storms: ferry"
    assert joined._replace(lang="fra") == ("1", "ferry Only storms.", "ferry", "Only storms.", "fra", "original", ())


def details(values: int = 1, system: str = EVIL) -> list[Detail]:
    return [
        Detail(system=f"{system}{number}", condition=condition, measure=measure, value=value, n=2, per_topic={})
        for number in range(values)
        for condition, measure, value in (
            ("original", "nDCG@20", 0.5),
            ("original>changed", "p-MRR", 0.25),
            ("original>changed", "selectivity", 0.125),
        )
    ]


def test_results_show_a_table_and_no_code_of_others() -> None:
    results = Results("c", EVIL, details(), (f"a warning {EVIL}",))
    assert repr(results) == f"Results(c {EVIL}: {EVIL}0)"
    html = results._repr_html_()
    assert EVIL not in html and html.count("&lt;script&gt;") == 4  # subset, system twice, warning
    assert '<td style="text-align: right">12.5</td>' in html
    many = Results("c", "eng", details(100))._repr_html_()
    assert many.count("<tr>") == 51 and "the first 50 of 200 lines" in many
    assert len(repr(Results("c", "eng", details(100, "system")))) < 100


def test_the_wide_table_is_the_printed_one() -> None:
    frame = Results("c", "eng", details(system="s")).table()
    assert list(frame.columns) == ["system", "condition", "nDCG@20", "p-MRR", "selectivity", "n"]
    assert frame.loc[1].tolist()[:2] == ["s0", "original>changed"]
    assert frame["nDCG@20"].tolist()[0] == 50.0 and frame["nDCG@20"].isna().tolist() == [False, True]
    assert frame["selectivity"].tolist()[1] == 12.5 and frame["n"].tolist() == [2, 2]


def test_without_pandas_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # as it is where it is not installed
    results, run = Results("c", "eng", details()), Run({"1": {"d": 1.0}})
    for call in (results.table, results.to_pandas, run.to_pandas):
        with pytest.raises(UsageError, match="a data frame: pandas is not installed; .* -m pip install pandas"):
            call()


def test_figures_and_runs_that_are_not_there_are_named_with_the_nearest(experiment: Experiment) -> None:
    with pytest.raises(DataError, match="^s0, orignal, nDCG@20: no such .*did you mean s0, original, nDCG@20"):
        Results("c", "eng", details(2, "s")).value("s0", "orignal", "nDCG@20")
    with experiment:
        runs = experiment.retrieve("bm25")
    with pytest.raises(DataError, match="^bm25: no run under orignal; did you mean original"):
        runs["orignal"]
    assert "orignal" not in runs


def test_the_plane_is_a_picture(tmp_path: Path) -> None:
    chart = Results("c", "eng", details(2, "s")).plane()
    assert repr(chart) == "Chart('c eng: nDCG@20 against selectivity')"
    shown = chart._repr_mimebundle_(include=None, exclude=None)
    assert shown["image/svg+xml"].startswith("<svg") and "s1" in shown["image/svg+xml"]
    assert shown["application/vnd.vegalite.v5+json"]["layer"] and shown["text/plain"] == repr(chart)
    chart.write(tmp_path / "plane.png")
    assert (tmp_path / "plane.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match=r"plane.gif: expected a name that ends in .svg, .png, .pdf"):
        chart.write(tmp_path / "plane.gif")
    with pytest.raises(UsageError, match="plane: no p-MRR here"):
        Results("c", "eng", details(2)[:1]).plane()


def test_runs_and_collections_are_short(experiment: Experiment) -> None:
    news = experiment.collection
    assert repr(news) == "Collection(neuclir-sample eng: 12 topics; query, original, changed)"
    assert repr(news.judging).startswith("Judging(original: 12 topics, changed: 12 topics; nDCG@20, ")
    cells = [f'<td style="text-align: right">{number}</td>' for number in (12, 12, 144, 48)]
    assert f"changed</td>{''.join(cells)}" in news._repr_html_()
    bm25 = experiment.retrieve("bm25")
    assert '<td style="text-align: left">changed</td>' in bm25._repr_html_()
    assert experiment.evaluate(bm25).value("bm25", "original", "nDCG@20") > 0
    run = Run({EVIL: {f"{EVIL}1": 1.0, "d2": 0.5}}, "mine")
    assert repr(run) == "Run('mine': 1 topics, 2 documents)"
    assert EVIL not in run._repr_html_() and "&lt;script&gt;alert(1)&lt;/script&gt;1" in run._repr_html_()
    assert repr(heed.Qrels({"1": {"d": 1}})) == "Qrels(1 topics, 1 judgements)"


def test_an_experiment_can_be_silent(
    tmp_path: Path, experiment: Experiment, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A terminal sees progress by default; whether it does is asked while a reranker scores."""
    seen: dict[str, bool] = {}

    class Asking(Backwards):
        def score(self, query: Query, documents: Sequence[Document]) -> list[float]:
            seen[self.name] = quiet()
            return super().score(query, documents)

    for name, shown in (("shown", True), ("silent", False)):
        asking = Asking()
        asking.name = name
        with Experiment(experiment.collection, indexes=tmp_path / "indexes", out=tmp_path, progress=shown) as another:
            another.rerank(asking, {"01": ["n018", "n005"]})
        assert not quiet()
    assert seen == {"shown": False, "silent": True}
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert list(bar([1, 2], 2, "work", "topics")) == [1, 2]
    assert capsys.readouterr().out == ""
