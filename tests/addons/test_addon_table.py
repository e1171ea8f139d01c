"""The table by which the core finds what add-ons bring."""

import pytest

from heed.addon_table import BROUGHT, brought


@pytest.mark.parametrize("key", BROUGHT)
def test_every_entry_is_a_function_or_class_of_its_addon(key: str) -> None:
    assert callable(brought(key))
