"""How many topics? What difference this set of topics can show, and how many topics would show a smaller one.

    python examples/how_many_topics.py              # the embedded sample: twelve topics
    python examples/how_many_topics.py 2            # how many topics would show 2 points?

Power 0.8, two-sided paired t-test at 5%, from the topics' own variance (docs/measures.md, How many topics).
"""

import sys

import heed
from heed.measures import power_of, topics_needed


def main(points: str = "5") -> None:
    """Print what the topics can show of two systems' nDCG@20, and of each one's selectivity."""
    with heed.Experiment(heed.load("neuclir-sample", lang="eng")) as experiment:
        bm25 = experiment.retrieve("bm25")
        polarity = experiment.rerank("polarity", [bm25], depth=50)
        results = experiment.evaluate([bm25, polarity])
    both = [results.per_topic(name, "changed", "nDCG@20") for name in ("bm25", "polarity")]
    compared = {"difference of nDCG@20": both}  # values of each topic: of two systems, or of one against 0
    for name in ("bm25", "polarity"):
        compared[f"selectivity of {name}"] = [results.per_topic(name, "original>changed", "selectivity")]
    for title, values in compared.items():
        if power := power_of(*values):  # None where nothing differs between topics
            needed = topics_needed(float(points) / 100, power["sd"])
            least = f"{power['n']} topics can show {100 * power['difference']:.1f} points"
            print(f"{title}: {least}; {needed} topics would show {points}")


if __name__ == "__main__":
    main(*sys.argv[1:])
