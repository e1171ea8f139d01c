"""Late interaction (ColBERT, ColBERT-X, PLAID-X) over a whole collection."""

from collections.abc import Sequence
from itertools import islice

from heed.addons.architectures.late_interaction import maxsim
from heed.progress import bar
from heed.ranking import top
from heed.retrieval.corpus import Corpus
from heed.retrieval.dense.vectors import Vectors, embed, folder_of
from heed.reuse import recipe_version
from heed.types import Config, Encoder, Query, Retriever, Run


class LateRetriever(Retriever):
    """MaxSim over every document of a collection as a :class:`heed.types.Retriever`.

    Exact: no token is pruned, clustered or quantised, as PLAID's index does, so results differ
    from PLAID's only by what PLAID misses. It costs disk and time: a token of 128 numbers takes 516
    bytes, where PLAID's one bit a number takes 20, and each search reads every one of them. A million
    documents of 180 tokens are 93 GB; above some hundred thousand, rerank a pool instead.
    """

    def __init__(self, encoder: Encoder, corpus: Corpus) -> None:
        """Search with ``encoder``, of packed matrices; vectors of documents go to a folder of its name."""
        self.name = encoder.name
        self._encoder, self._corpus = encoder, corpus
        self._vectors: Vectors | None = None
        self.config: Config = {"maxsim": recipe_version("maxsim"), "system": encoder.config}

    def load(self) -> None:
        """Embed the documents unless their vectors are there."""
        self._embedded()

    def _embedded(self) -> Vectors:
        if self._vectors is None:
            folder = folder_of(self._corpus.folder, self._encoder, self.name)
            self._vectors = embed(folder / "vectors", self._corpus.documents, self._encoder)
        return self._vectors

    def search(self, queries: Sequence[Query], depth: int) -> Run:
        """Return the ``depth`` best documents of each query, searched shard by shard."""
        best: Run = {query.qid: {} for query in queries}
        if not queries:
            return best
        query_vectors, vectors = self._encoder.encode_queries(queries), self._embedded()
        docids, shards = iter(vectors.docids), len(vectors.shards)
        for part in bar(vectors.parts(), shards, f"{self.name}.{queries[0].condition}", "shards"):
            scores = maxsim(query_vectors, part)
            here = list(islice(docids, scores.shape[1]))
            for qid, row in zip(best, scores.tolist(), strict=True):
                best[qid] = top({**best[qid], **dict(zip(here, row, strict=True))}, depth)
        return best

    def close(self) -> None:
        """Forget the vectors, and close the model."""
        self._vectors = None
        self._encoder.close()
