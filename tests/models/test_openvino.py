"""``--backend openvino``; its scores are compared in the environment of docs/installation.md alone."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from model_inputs import CPU, queries

from hardening.tiny import tiny_models
from heed.errors import UsageError
from heed.models.encoders.bi_encoder import SentenceEncoder
from heed.models.registry.entries import Model
from heed.models.rerankers.cross_encoder import CrossEncoderReranker
from heed.types import Document

OPENVINO = CPU._replace(backend="openvino")
TEXTS = ["a ferry sank", "cars are recalled 一 丁", "", "x " * 300]
DOCUMENTS = [Document(str(number), "", text) for number, text in enumerate(TEXTS)]


@pytest.mark.skipif(find_spec("openvino") is None, reason="openvino is not installed")
@pytest.mark.filterwarnings("ignore")  # of its export of models
def test_openvino_computes_in_float32(tmp_path: Path) -> None:
    tiny_models(tmp_path)  # in bfloat16, vectors differ by 3e-5 and scores by 7e-5
    bi, cross = Model(str(tmp_path / "bi")), Model(str(tmp_path / "cross"))
    vectors = [SentenceEncoder(bi, runtime).encode_documents(DOCUMENTS) for runtime in (CPU, OPENVINO)]
    np.testing.assert_allclose(*vectors, atol=2e-6)
    [query] = queries([("ferry", "only accidents")])
    scores = [CrossEncoderReranker(cross, runtime).score(query, DOCUMENTS) for runtime in (CPU, OPENVINO)]
    np.testing.assert_allclose(*scores, atol=2e-6)


@pytest.mark.skipif(find_spec("openvino") is not None, reason="openvino is installed")
def test_without_openvino_the_message_says_which_versions_fit() -> None:
    with pytest.raises(UsageError, match=r"openvino: the package .+ optimum-intel 2.2 with transformers 5.0 to 5.5"):
        OPENVINO.check()
