"""Pool the documents of two systems, judge them, and measure the systems by these judgements.

    python examples/pool_judge_qrels.py        # topic 01: type a grade from 0 to 3 for each document
    python examples/pool_judge_qrels.py 02

Put a model, or judgements that you have, in the place of `judge`. In the browser people judge with `heed annotate`, and
`heed judge` asks a language model (docs/judging.md).
"""

import sys

import heed
from heed.measures import mean, standard


def judge(topic: heed.Topic, document: heed.Document) -> int:
    """Return the grade that a person types at the terminal."""
    print(f"\n{topic.query}\n{topic.instructions['original']}\n\n{document.title}\n{document.text}")
    return int(input("grade, 0 to 3: "))


def main(qid: str = "01") -> None:
    """Write judged.qrels, and print each system's nDCG@5 by it."""
    with heed.Experiment(heed.load("neuclir-sample", lang="eng"), conditions=["original"]) as experiment:
        systems = [experiment.retrieve("bm25"), experiment.retrieve("lsa")]
        [topic] = [topic for topic in experiment.collection.topics if topic.qid == qid]
        docids = sorted(experiment.pool(systems, depth=5)[qid])  # an order that shows neither rank nor system
        documents = experiment.documents.get(docids)
    qrels = heed.Qrels({qid: {document.docid: judge(topic, document) for document in documents}})
    qrels.write("judged.qrels")
    for system in systems:
        values = standard(system["original"], qrels, ["nDCG@5"])["nDCG@5"]
        print(f"{system.name}: nDCG@5 {100 * mean(values):.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
