"""Late interaction: a vector for every token of a text, packed into one matrix."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from heed.errors import ModelError
from heed.io.document_store import DocumentStore
from heed.models.encoders import Input, SentenceEncoder
from heed.models.late_models import load
from heed.models.registry import Model
from heed.models.runtime import DEFAULT, Runtime
from heed.models.yes_no import batches
from heed.progress import log

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from heed.types import Matrix

VERSION = 1  # raise when tokens or their vectors change
FLOAT = 4  # bytes


class LateEncoder(SentenceEncoder):
    """A MultiVectorEncoder whose matrices are *packed*: a row for each token that is compared.

    Column 0 is 1 where a text begins, else 0; the others are the token's vector. The markers of
    queries and documents are the model's own, before the filled templates of the entry.
    """

    def __init__(self, model: Model, runtime: Runtime = DEFAULT) -> None:
        """As of :class:`SentenceEncoder`."""
        super().__init__(model, runtime)
        self.config["late"] = VERSION
        self._markers: dict[str, int] = {}

    def _loaded(self) -> Any:
        encoder, self._markers = load(self._model, self._device)
        return encoder

    def begin(self, store: DocumentStore) -> None:
        """Log how large the vectors of ``store`` can become."""
        limit, width = self._limit("document"), FLOAT * (1 + self._encoder.get_embedding_dimension())
        if limit:
            most = store.count * limit * width / 1e9
            log.info(f"{self.name}: {width} bytes a token, at most {most:.2g} GB for {store.count} documents")

    def _input(self, task: str, whole: str, unprefixed: str) -> Input:
        prompts = self._encoder.prompts
        names = ("query",) if task == "query" else ("document", "passage", "corpus")  # as encode_document looks
        return Input(next((prompts[name] for name in names if prompts.get(name)), ""), whole)

    def _vectors(self, inputs: Sequence[Input], task: str) -> "Matrix":
        import numpy as np

        from heed.models.unpadded import TOKENS

        limit = self._limit(task)
        lengths = self._lengths([text.whole for text in inputs])
        by_index: dict[int, Matrix] = {}
        for batch in batches([min(length, limit or length) for length in lengths], TOKENS):
            by_index.update(zip(batch, self._tokens([inputs[index] for index in batch], task), strict=True))
        texts = [by_index[index] for index in range(len(inputs))]
        if not all(len(text) and np.isfinite(text).all() for text in texts):
            raise ModelError(f"{self.name}: a {task} without a token to compare, or with a vector that is not finite")
        if task == "query" and self._encoder.similarity_fn_name == "meanmaxsim":
            texts = [text / np.float32(len(text)) for text in texts]  # then the sum of the best products is their mean
        return packed(texts)

    def _tokens(self, inputs: Sequence[Input], task: str) -> "list[Matrix]":
        """Return the vectors of each text's tokens that are compared, mask tokens of queries included."""
        import torch
        from sentence_transformers.util import batch_to_device

        features = self._encoder.preprocess([text.text for text in inputs], prompt=inputs[0].prefix, task=task)
        if self._markers:
            features["input_ids"][:, 1] = self._markers[task]
        with torch.inference_mode():
            output = self._encoder(batch_to_device(features, self._encoder.device), task=task)
        vectors = output["token_embeddings"].float().cpu().numpy()
        masks = output["attention_mask"].bool().cpu().numpy()
        return [rows[mask] for rows, mask in zip(vectors, masks, strict=True)]


def packed(texts: "Sequence[Matrix]") -> "Matrix":
    """Return one packed matrix of the token vectors of ``texts``, each of which has a token."""
    import numpy as np

    rows = np.zeros((sum(map(len, texts)), 1 + texts[0].shape[1]), dtype=np.float32)
    np.concatenate(texts, out=rows[:, 1:])
    rows[np.cumsum([0, *map(len, texts[:-1])]), 0] = 1
    return rows


def begins(rows: "Matrix") -> "NDArray[np.int64]":
    """Return the rows of a packed matrix at which texts begin."""
    import numpy as np

    return np.flatnonzero(rows[:, 0])


def split(rows: "Matrix") -> "list[Matrix]":
    """Return the packed matrix of each text alone."""
    import numpy as np

    return np.split(rows, begins(rows)[1:])
