"""Vectors of a tiny INSTRUCTOR equal those of its authors' library, which are recorded."""

import json
from pathlib import Path

import golden_models
import numpy as np
import pytest
from conftest import ROOT
from golden_texts import ASKED, DOCUMENTS
from model_inputs import CPU, queries

from heed.models.encoders.bi_encoder import SentenceEncoder
from heed.models.registry.entries import Registry
from heed.types import Document

SYSTEMS = ("hkunlp/instructor-base", "hkunlp/instructor-xl")


@pytest.mark.golden(
    program="InstructorEmbedding 1.0.1", compared="vectors without their instruction, cut texts", systems=SYSTEMS
)
def test_vectors_are_those_of_instructors_own_library(tmp_path: Path) -> None:
    golden = json.loads((ROOT / "tests" / "data" / "golden" / "instructor.json").read_text())
    folder = golden_models.instructor(tmp_path / "instructor")
    given = [Document(docid, title, text) for docid, (title, text) in DOCUMENTS.items()]
    for name in SYSTEMS:
        encoder = SentenceEncoder(Registry().find(name)._replace(source=str(folder)), CPU)
        np.testing.assert_allclose(encoder.encode_documents(given), golden["documents"], atol=2e-5)
        np.testing.assert_allclose(encoder.encode_queries(queries(ASKED)), golden["asked"], atol=2e-5)
        bare = queries([(query, "") for query, _ in ASKED])
        np.testing.assert_allclose(encoder.encode_queries(bare), golden["bare"], atol=2e-5)
