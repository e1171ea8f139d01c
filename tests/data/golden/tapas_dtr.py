"""Record what Google's network of its table retriever computes from the weights of ``tiny_published_models.py``.

    python -m pip install tensorflow-cpu==2.15.1 tf_slim safetensors tokenizers
    PYTHONPATH=tests:FOLDER python tests/data/golden/tapas_dtr.py

FOLDER/tapas is the package of google-research/tapas at 083b26d7f60204d41738fb3f280a958f986d2080; needed of it are
models/bert/modeling.py, models/bert/table_bert.py and models/segmented_tensor.py. Networks and projections are made and
multiplied as its models/table_retriever_model.py does; the types of the tokens are read off its tf_example_utils.py.
"""

import json
import tempfile
from pathlib import Path

import tensorflow.compat.v1 as tf
from tapas.models.bert import modeling, table_bert
from tiny_published_models import PIECES, tapas, tapas_weights

NAMES = (
    *("segment_ids", "column_ids", "row_ids", "prev_label_ids"),
    *("column_ranks", "inv_column_ranks", "numeric_relations"),
)
LENGTH = 16
TABLE = [
    *((word, [0] * 7) for word in ("[CLS]", "longest", "river", "##s", "[SEP]")),
    *(("river", [1, 1, 0, 0, 0, 0, 0]), ("length", [1, 2, 0, 0, 0, 0, 0]), ("km", [1, 2, 0, 0, 0, 0, 0])),
    *(("nile", [1, 1, 1, 0, 0, 0, 0]), ("6650", [1, 2, 1, 0, 2, 1, 0])),
    *(("amazon", [1, 1, 2, 0, 0, 0, 0]), ("6400", [1, 2, 2, 0, 1, 2, 0])),
]
QUERY = [(word, [0] * 7) for word in ["[CLS]", "longest", "river", "in", "km", "[SEP]"]]


def features(tokens):
    rest = LENGTH - len(tokens)
    words = PIECES.split()
    made = {"input_ids": [words.index(word) for word, _ in tokens] + [0] * rest}
    made["input_mask"] = [1] * len(tokens) + [0] * rest
    made |= {name: [types[at] for _, types in tokens] + [0] * rest for at, name in enumerate(NAMES)}
    return {name: tf.constant([values]) for name, values in made.items()}


tf.disable_eager_execution()
folder = tapas(Path(tempfile.mkdtemp()))
config = modeling.BertConfig.from_json_file(str(folder / "bert_config.json"))
towers = [
    table_bert.create_model(features=features(tokens), mode=tf.estimator.ModeKeys.PREDICT, bert_config=config)
    for tokens in (TABLE, QUERY)
]
projections = [tf.get_variable(name, shape=[8, config.hidden_size]) for name in ("table_projection", "text_projection")]
vectors = [
    tf.matmul(tower.get_pooled_output(), projection, transpose_b=True)
    for tower, projection in zip(towers, projections, strict=True)
]
weights = tapas_weights()
variables = {variable.name.removesuffix(":0"): variable for variable in tf.trainable_variables()}
if variables.keys() != weights.keys():
    raise SystemExit(f"other names: {sorted(variables.keys() ^ weights.keys())}")
with tf.Session() as session:
    session.run([tf.assign(variables[name], weights[name]) for name in weights])
    table, query = (rows[0].tolist() for rows in session.run(vectors))
record = {
    "program": f"google-research/tapas's table_bert.py, tensorflow {tf.__version__}",
    "command": "PYTHONPATH=tests:FOLDER python tests/data/golden/tapas_dtr.py",
    "table": table,
    "query": query,
}
Path(__file__).with_suffix(".json").write_text(json.dumps(record) + "\n", encoding="utf-8")
