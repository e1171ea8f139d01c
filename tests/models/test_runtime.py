"""Settings of models; scores of OpenVINO are compared in the environment of docs/installation.md alone."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_inputs import CPU, queries

from hardening.tiny import tiny_models
from heed.errors import UsageError
from heed.models.encoders.bi_encoder import SentenceEncoder
from heed.models.local.language_models import check_device
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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dtype": "int8"}, "dtype: found 'int8', expected one of auto, float32, bfloat16, float16"),
        ({"backend": "onnx"}, "backend: found 'onnx', expected one of torch, openvino"),
        ({"batch_size": 0}, "batch_size: found 0, expected at least 1"),
        ({"backend": "openvino", "inference": "vllm"}, "openvino with inference vllm: leave one of them out"),
        (
            {"backend": "openvino", "dtype": "bfloat16"},
            "openvino: runs in float32 on a CPU; leave dtype",
        ),
        ({"backend": "openvino", "device": "cuda"}, "openvino: runs in float32 on a CPU; leave dtype"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CPU._replace(**settings).check()


def test_a_cluster_has_no_gpu_of_this_machine() -> None:
    check_device("cuda", here=False)
    with pytest.raises(UsageError, match="cuda:1: names a GPU of this machine, but models run on a cluster; use cuda"):
        check_device("cuda:1", here=False)
