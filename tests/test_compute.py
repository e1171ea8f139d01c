"""How systems are run: values that cannot be are refused before any work, by the names of their fields."""

from typing import Any

import pytest

from heed.compute import Compute
from heed.errors import UsageError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dtype": "int8"}, "dtype: found 'int8', expected one of auto, float32, bfloat16, float16"),
        ({"inference": "tgi"}, "inference: found 'tgi', expected one of transformers, vllm"),
        ({"batch_size": 0}, "batch_size: found 0, expected at least 1"),
        ({"threads": 0}, "threads: found 0, expected at least 1"),
        ({"heap": "lots"}, "heap: found 'lots', expected a number with m or g, such as 512m or 8g"),
        ({"encoder_reads": "title"}, "encoder_reads: found 'title', expected one of both, query"),
        ({"fusion_weight": -1.0}, "fusion_weight: found -1.0, expected a number from 0"),
        ({"fusion_weight": float("nan")}, "fusion_weight: found nan"),
        ({"device": "gpu"}, "device: found 'gpu', expected auto, cpu, cuda, cuda:N or mps"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Compute(**settings).check()


def test_all_settings_that_cannot_be_are_named_at_once() -> None:
    with pytest.raises(UsageError, match="dtype: .*\nmax_length: .*\nheap: "):
        Compute(dtype="int8", max_length=0, heap="big").check()


def test_a_cluster_has_no_gpu_of_this_machine() -> None:
    Compute("cuda").check(here=False)
    with pytest.raises(UsageError, match="device: cuda:1 names a GPU of this machine, but models run on a cluster"):
        Compute("cuda:1").check(here=False)
