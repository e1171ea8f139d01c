"""Vectors in the forms of other tools, searched by ``--vectors``."""

import base64
import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from conftest import ROOT, Heed
from hostile_pickles import Bomb
from letter_encoder import LetterCounts

import heed as library
from heed.addons.bridges.foreign_vectors import ForeignVectors, read_parts, sample
from heed.errors import DataError
from heed.formats.document_store import DocumentStore, open_store
from heed.formats.documents import Files

Matrix = np.ndarray
Write = Callable[[Path, Matrix, list[str]], None]
SAMPLE = ROOT / "documents" / "neuclir-sample" / "eng.jsonl"


def npy(folder: Path, vectors: Matrix, docids: list[str]) -> None:
    for name, rows in (("b", slice(50, None)), ("a", slice(0, 50))):  # read in the order of their names
        np.save(folder / f"{name}.npy", vectors[rows])
    (folder / "docids.txt").write_text("\n".join(docids))


def parquet(folder: Path, vectors: Matrix, docids: list[str]) -> None:
    width = vectors.shape[1]
    flat = pyarrow.array(vectors.ravel())
    lists = {
        "fixed": pyarrow.FixedSizeListArray.from_arrays(flat, width),
        "free": pyarrow.ListArray.from_arrays(np.arange(len(docids) + 1, dtype=np.int32) * width, flat),
    }
    for (name, column), rows in zip(lists.items(), (slice(0, 50), slice(50, None)), strict=True):
        table = pyarrow.table({"docid": docids[rows], "text": docids[rows], "embedding": column[rows]})
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet", row_group_size=20)


def pyserini_json(folder: Path, vectors: Matrix, docids: list[str]) -> None:
    """As pyserini.encode's JsonlRepresentationWriter writes it."""
    with (folder / "embeddings.jsonl").open("w") as out:
        for docid, vector in zip(docids, vectors, strict=True):
            out.write(json.dumps({"id": docid, "contents": "text", "vector": vector.tolist()}) + "\n")


def pyserini_faiss(folder: Path, vectors: Matrix, docids: list[str]) -> None:
    """As its FaissRepresentationWriter does (``--to-faiss``)."""
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.ascontiguousarray(vectors))
    faiss.write_index(index, str(folder / "index"))
    (folder / "docid").write_text("".join(f"{docid}\n" for docid in docids))


def tevatron(folder: Path, vectors: Matrix, docids: list[str], protocol: int = 4) -> None:
    """As tevatron.retriever.driver.encode does, in two shards."""
    for number, rows in enumerate((slice(0, 60), slice(60, None))):
        with (folder / f"corpus_emb.{number}.pkl").open("wb") as out:
            pickle.dump((vectors[rows], docids[rows]), out, protocol)


def tevatron_5(folder: Path, vectors: Matrix, docids: list[str]) -> None:
    tevatron(folder, vectors, docids, 5)


FORMS: list[Write] = [npy, parquet, pyserini_json, pyserini_faiss, tevatron, tevatron_5]


class Normalised(LetterCounts):
    """The same letter counts, at length 1."""

    name = "normalised"

    def counts(self, texts: list[str]) -> Matrix:
        counts = super().counts(texts) + 1
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> DocumentStore:
    return open_store(tmp_path_factory.mktemp("store"), Files([SAMPLE]))


def made(store: DocumentStore, encoder: LetterCounts) -> tuple[Matrix, list[str]]:
    """Vectors of the documents in an order that is not that of docids."""
    documents = sorted(store, key=lambda document: document.text)
    return encoder.encode_documents(documents), [document.docid for document in documents]


def taken(folder: Path, store: DocumentStore, encoder: LetterCounts) -> Matrix:
    """The vectors of a folder as they are taken, in the order of docids."""
    vectors = ForeignVectors(folder).vectors(folder.parent / "taken", store, encoder)
    assert vectors.docids == list(store.docids())
    return np.concatenate(list(vectors.parts()))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "given").mkdir()
    return tmp_path / "given"


@pytest.mark.parametrize("write", FORMS)
def test_every_form_is_read_to_the_bit(write: Write, folder: Path, store: DocumentStore) -> None:
    encoder = Normalised()
    write(folder, *made(store, encoder))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert taken(folder, store, encoder).tobytes() == encoder.encode_documents(list(store)).tobytes()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert not (folder.parent / "taken" / "scratch").exists()


@pytest.mark.parametrize("form", ["json", "faiss", "tevatron"])
def test_what_other_programs_wrote_is_read(form: str, folder: Path) -> None:
    golden = json.loads((ROOT / "tests/data/golden/vectors_elsewhere.json").read_text())
    for name, content in golden["files"][form].items():
        (folder / name).write_bytes(base64.b64decode(content))
    [part] = read_parts(folder, folder.parent)
    precision = np.float16 if form == "tevatron" else np.float32
    assert part.docids == golden["docids"]
    assert part.rows.dtype == precision and np.array_equal(part.rows, np.array(golden["vectors"], dtype=precision))


def test_a_run_of_given_vectors_is_that_of_the_model(
    heed: Heed, tiny_encoder: Path, folder: Path, tmp_path: Path
) -> None:
    systems = ("--retriever", tiny_encoder, "--reranker", "none", "--device", "cpu")
    arguments = ("pipelines.trec", *systems, "--family", "bi-encoder")
    direct = heed(*arguments, "--out", "direct", "--indexes", "own")
    assert direct.returncode == 0, direct.stderr
    [own] = (tmp_path / "own").rglob("docids.txt")
    vectors = np.concatenate([np.load(shard) for shard in sorted(own.parent.glob("shard-*.npy"))])
    tevatron(folder, vectors[::-1], own.read_text().splitlines()[::-1])
    given = heed(*arguments, "--out", "other", "--vectors", folder)
    assert given.returncode == 0, given.stderr
    assert "of 101 documents that the model encoded again the lowest cosine is 1.000000" in given.stderr
    runs = [{path.name: path.read_bytes() for path in (tmp_path / out).rglob("*.run")} for out in ("direct", "other")]
    assert len(runs[0]) == 3 and runs[0] == runs[1]
    assert "sha256:" in next((tmp_path / "other").rglob("manifest.yml")).read_text()
    again = heed(*arguments, "--out", "other", "--vectors", folder)
    assert again.stderr.count("used again") >= 3 and "lowest cosine is 1.000000" in again.stderr
    hnsw = heed(*arguments, "--out", "hnsw", "--vectors", folder, "--faiss", "hnsw")
    assert hnsw.returncode == 0, hnsw.stderr


def at(rows: Matrix, begin: int, end: int, others: Matrix) -> Matrix:
    """The vectors with others in the place of some."""
    return np.concatenate([rows[:begin], others, rows[end:]])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda rows, ids: (rows[:, :5], ids), "vectors of 5 dimensions, the model's have 8"),
        (lambda rows, ids: (rows[2:], ids[2:]), "2 of 144 documents have no vector: "),
        (lambda rows, ids: (rows, [*ids[1:], "x"]), "1 of 144 documents have no vector: .*; 1 vectors .*: x; encode"),
        (lambda rows, ids: (rows, [ids[1], *ids[1:]]), "1 docids come twice: "),
        (lambda rows, ids: (rows, ids[1:]), "94 vectors and 93 docids; expected as many"),
        (lambda rows, ids: (rows[1:], ids), "144 docids for 143 vectors; expected as many"),
        (lambda rows, ids: (rows * 3, ids), "of other lengths than the model's: 3 to 3, expected 1 to 1; normalise"),
        (
            lambda rows, ids: (rows[::-1], ids),
            r"not this model's vectors: of 101 documents .* cosine is down to 0\.\d+",
        ),
        # as many as the model encodes again: one in each stretch of every file, 35 of 50 and 66 of 94
        (lambda rows, ids: (at(rows, 20, 32, rows[50:62]), ids), "of 101 documents that it encoded again [5-9] differ"),
        (lambda rows, ids: (at(rows, 100, 117, rows[101:118]), ids), "of 101 documents .* differ, the cosine is down"),
        (lambda rows, ids: (np.where(rows > 0, np.nan, rows), ids), "not finite numbers"),
        (lambda rows, ids: (rows.astype(int), ids), "int64 of shape .*, expected floating-point numbers"),
    ],
)
def test_what_does_not_fit_is_refused(
    change: Callable[[Matrix, list[str]], tuple[Matrix, list[str]]], problem: str, folder: Path, store: DocumentStore
) -> None:
    npy(folder, *change(*made(store, Normalised())))
    with pytest.raises(DataError, match=problem):
        taken(folder, store, Normalised())
    assert not (folder.parent / "taken").exists()


def test_wrong_vectors_anywhere_are_seen(store: DocumentStore) -> None:
    """Twelve of 144 vectors, wherever they are: all are missed with a probability below (1 - 12/144)^101 = 0.015 %."""
    order, starts = np.random.default_rng(1).permutation(store.count), np.array([0, 50, 51, 144])
    compared = {int(order[number]) for number, _ in sample(store, order, starts)}
    assert 101 <= len(compared) <= 103 and 50 in compared  # a file of one vector too
    places = np.random.default_rng(2)
    missed = sum(compared.isdisjoint(places.choice(144, 12, replace=False).tolist()) for _ in range(20_000))
    assert missed <= 3  # 20,000 · 0.015 %
    assert all(not compared.isdisjoint(range(begin, begin + 4)) for begin in range(140))  # two stretches of 1.4 vectors


@pytest.mark.parametrize(
    ("value", "problem"),
    [(np.nan, "1 vectors are not finite"), (0.9, "1 vectors are not of length 1, as the model's are: {}; normalise")],
)
def test_every_vector_is_looked_at(value: float, problem: str, folder: Path, store: DocumentStore) -> None:
    vectors, docids = made(store, Normalised())
    order = np.array([docids.index(docid) for docid in store.docids()])
    sampled = {int(order[number]) for number, _ in sample(store, order, np.array([0, 50, 144]))}
    row = next(row for row in range(144) if row not in sampled)
    vectors[row] *= value
    npy(folder, vectors, docids)
    with pytest.raises(DataError, match=problem.format(docids[row])):
        taken(folder, store, Normalised())


def test_vectors_that_are_not_normalised_are_taken_where_the_models_are_not(folder: Path, store: DocumentStore) -> None:
    npy(folder, *made(store, LetterCounts()))
    assert np.array_equal(taken(folder, store, LetterCounts()), LetterCounts().encode_documents(list(store)))


def test_a_packed_copy_of_vectors_is_no_vectors(folder: Path, store: DocumentStore) -> None:
    npy(folder, *made(store, LetterCounts()))
    (folder / "a.npy.gz").write_bytes(gzip.compress((folder / "a.npy").read_bytes()))
    assert np.array_equal(taken(folder, store, LetterCounts()), LetterCounts().encode_documents(list(store)))


def test_half_precision_and_foreign_documents_are_told(
    folder: Path, store: DocumentStore, caplog: pytest.LogCaptureFixture
) -> None:
    vectors, docids = made(store, Normalised())
    vectors[:, 0] += 0.03
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)  # cosines of about 0.999 with the model's
    npy(folder, np.vstack([vectors, vectors[:1]]).astype(np.float16), [*docids, "foreign"])
    for _ in range(2):
        caplog.clear()
        taken(folder, store, Normalised())
        assert "vectors differ from the model's (cosine down to 0.99" in caplog.text
        assert "1 of 145 vectors are of documents that are not in the collection, left out: foreign" in caplog.text


def hostile(path: Path, ran: Path) -> None:
    path.write_bytes(pickle.dumps((Bomb(ran), ["a"])))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"a": 1}, "the pickle holds a dict, expected a pair of vectors and a list of docids"),
        (
            (np.eye(2), [("a", 0), ("a", 1)]),
            "docids of type tuple, expected .*; encode whole documents where these are",
        ),
        ((np.array([["a"], ["b"]], dtype=object), ["a", "b"]), "the pickle holds a tuple, expected a pair of vectors"),
        ((np.eye(2), [1.5, None]), "docids of type NoneType, float, expected text or numbers"),
        ((np.eye(2), [Path("a"), Path("b")]), r"stays refused \(it names pathlib"),
        ((np.arange(2), ["a", "b"]), r"int64 of shape \(2,\), expected floating-point numbers with one vector a row"),
    ],
)
def test_pickles_of_something_else_are_refused(
    content: object, problem: str, folder: Path, store: DocumentStore
) -> None:
    (folder / "a.pkl").write_bytes(pickle.dumps(content))
    with pytest.raises(DataError, match=f"a.pkl: .*{problem}"):
        taken(folder, store, Normalised())


def test_a_pickle_that_would_run_code_is_refused_and_runs_nothing(folder: Path, store: DocumentStore) -> None:
    hostile(folder / "a.pkl", folder.parent / "ran")
    with pytest.raises(
        DataError, match=r"a\.pkl: the pickle holds more .*, so it stays refused \(it names posix.mkdir\)"
    ):
        taken(folder, store, Normalised())
    assert not (folder.parent / "ran").exists()
    (folder / "a.pkl").write_bytes(pickle.dumps((np.eye(3), ["a", "b", "c"]))[:-30])
    with pytest.raises(DataError, match=r"a\.pkl: not whole pickled vectors \(.*truncated\); fetch the file again"):
        taken(folder, store, Normalised())


def test_only_flat_indexes_are_taken(folder: Path, store: DocumentStore) -> None:
    vectors, docids = made(store, Normalised())
    pyserini_faiss(folder, vectors, docids)
    hnsw = faiss.IndexHNSWFlat(vectors.shape[1], 4, faiss.METRIC_INNER_PRODUCT)
    hnsw.add(vectors)
    faiss.write_index(hnsw, str(folder / "index"))
    with pytest.raises(DataError, match="index: of kind b'IHNf', expected a flat FAISS index"):
        taken(folder, store, Normalised())
    pyserini_faiss(folder, vectors, docids)
    (folder / "index").write_bytes((folder / "index").read_bytes()[:-4])
    with pytest.raises(DataError, match="144 vectors of 8 numbers do not fill the file"):
        taken(folder, store, Normalised())
    (folder / "docid").unlink()
    with pytest.raises(DataError, match="no file docid beside it"):
        taken(folder, store, Normalised())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2: expected a JSON object with id and vector"),
        ('{"id": "b", "vector": "text"}', "line 2: expected a JSON object with id and vector"),
        ('{"id": "b", "vector": [[1.0, 2.0]]}', "line 2: expected a JSON object with id and vector"),
        ('{"vector": [1.0, 2.0]}', "line 2: expected a JSON object with id and vector"),
        ('{"id": "b", "vector": [1.0]}', "line 2: a vector of 1 numbers, expected 2 as before it"),
    ],
)
def test_a_broken_line_is_named(line: str, problem: str, folder: Path, store: DocumentStore) -> None:
    (folder / "a.jsonl").write_text('{"id": "a", "vector": [1.0, 2.0]}\n' + line + "\n")
    with pytest.raises(DataError, match=f"a.jsonl, {problem}"):
        taken(folder, store, Normalised())


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"docid": ["a", "b"], "embedding": [[1.0, 2.0], [1.0]]}, "vectors of several lengths"),
        ({"docid": ["a", "b"], "embedding": [[1.0, 2.0], None]}, "missing values"),
        ({"docid": ["a"], "values": [[1.0]]}, "columns docid, values; expected one of vector, embedding"),
    ],
)
def test_what_parquet_lacks_is_named(
    columns: dict[str, object], problem: str, folder: Path, store: DocumentStore
) -> None:
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "a.parquet")
    with pytest.raises(DataError, match=f"a.parquet: .*{problem}"):
        taken(folder, store, Normalised())
    (folder / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="a.parquet: cannot be read as Parquet"):
        taken(folder, store, Normalised())


def test_a_folder_of_no_form_or_several_is_an_error(folder: Path, store: DocumentStore, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere: no such folder"):
        ForeignVectors(tmp_path / "nowhere")
    with pytest.raises(DataError, match="given: no vectors; expected one of npy, Parquet, a flat FAISS index"):
        ForeignVectors(folder)
    for name in ("a.npy", "a.pkl"):
        (folder / name).touch()
    with pytest.raises(DataError, match=r"given: vectors of 2 forms \(npy, pickles\); expected one of them"):
        ForeignVectors(folder)
    (folder / "a.pkl").unlink()
    np.save(folder / "a.npy", np.eye(3))
    with pytest.raises(DataError, match="docids.txt: not there; expected the docids of all .npy files"):
        taken(folder, store, Normalised())


def test_python_searches_given_vectors_too(folder: Path, store: DocumentStore, tmp_path: Path) -> None:
    npy(folder, *made(store, Normalised()))
    news = library.load("neuclir-sample", lang="eng")
    encoder = Normalised()
    search = library.Search(vectors=folder)
    given = library.Experiment(news, indexes=tmp_path / "i", out=tmp_path / "given", search=search).retrieve(encoder)
    assert len(encoder.encoded) == 101
    own = library.Experiment(news, indexes=tmp_path / "i", out=tmp_path / "own").retrieve(Normalised())
    assert {name: dict(run) for name, run in given.items()} == {name: dict(run) for name, run in own.items()}


def test_vectors_that_no_retriever_searches_are_an_error(heed: Heed, folder: Path, store: DocumentStore) -> None:
    npy(folder, *made(store, Normalised()))
    result = heed("pipelines.trec", "--retriever", "bm25", "--retriever", "lsa", "--vectors", folder)
    assert result.returncode == 1
    assert result.stderr.endswith(
        "error: --vectors: none of the retrievers searches them; name the bi-encoder that made them\n"
    )
