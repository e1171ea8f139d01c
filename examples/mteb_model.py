"""A model of MTEB, run by MTEB's code, measured by Heed.

    python examples/mteb_model.py                                   # MTEB's random baseline, which needs no download
    python examples/mteb_model.py BAAI/bge-reranker-v2-m3           # any cross-encoder or bi-encoder that MTEB knows

Needs `make models` and MTEB (pip install "mteb>=2"). The other way round,
heed.addons.bridges.mteb.as_mteb makes a model for mteb.evaluate of a system of Heed.
"""

import sys

import heed


def main(model: str = "mteb/baseline-random-cross-encoder") -> None:
    """Print nDCG, p-MRR and selectivity of BM25 and of the model over its first 20 documents a topic."""
    with heed.Experiment(heed.load("neuclir-sample", lang="eng")) as experiment:
        bm25 = experiment.retrieve("bm25")
        theirs = experiment.rerank(f"mteb:{model}", [bm25], depth=20)
        print(experiment.evaluate([bm25, theirs]))


if __name__ == "__main__":
    main(*sys.argv[1:])
