"""Settings of models."""

from typing import Any

import pytest
from model_inputs import CPU

from heed.errors import UsageError
from heed.models.local.language_models import check_device


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dtype": "int8"}, "dtype: found 'int8', expected one of auto, float32, bfloat16, float16"),
        ({"batch_size": 0}, "batch_size: found 0, expected at least 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CPU._replace(**settings).check()


def test_a_cluster_has_no_gpu_of_this_machine() -> None:
    check_device("cuda", here=False)
    with pytest.raises(UsageError, match="cuda:1: names a GPU of this machine, but models run on a cluster; use cuda"):
        check_device("cuda:1", here=False)
