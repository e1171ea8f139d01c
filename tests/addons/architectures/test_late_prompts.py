"""The texts that Heed shows of a late-interaction model are those that sentence-transformers reads."""

from pathlib import Path

from shown_prompts import assert_shown_is_read, every_entry, every_prompt

from heed.addons.architectures.late_interaction import LateEncoder
from heed.retrieval.dense.vectors import split


@every_entry
@every_prompt
def test_what_is_shown_is_what_is_read(
    tmp_path: Path, tiny_encoder: Path, prompts: dict[str, str | None], entry: dict[str, str]
) -> None:
    assert_shown_is_read(
        tmp_path, tiny_encoder, prompts, entry, LateEncoder, lambda vectors: split(vectors)[0][:, 1:], late=True
    )
