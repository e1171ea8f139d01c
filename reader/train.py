"""Train a tagger on labelled texts, and on the mean answers of teachers where there are any."""

import random
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from reader.labels import ASKED, NEUTRAL, NOT_EXCLUDED, UNKNOWN, Labelled, joined, varied
from reader.network import LONGEST, Tagger

BATCH = 32


class Tokens(NamedTuple):
    """The tokens of a text, each with its label."""

    ids: list[int]
    labels: list[int]


class Batch(NamedTuple):
    """Tokens of several texts of similar length."""

    ids: Tensor
    mask: Tensor
    labels: Tensor


def tokens(tokenizer: Tokenizer, labelled: Labelled) -> Tokens:
    """Return the tokens of a text; a token's label is that of its middle, and ``UNKNOWN`` at the ends."""
    of_letters = [part.label for part in labelled.parts for _ in part.text]
    encoding = tokenizer.encode(labelled.text)
    labels = [of_letters[(start + end) // 2] if end > start else UNKNOWN for start, end in encoding.offsets]
    return Tokens(encoding.ids[:LONGEST], labels[:LONGEST])


def batches(examples: Sequence[Tokens], chance: random.Random, device: str) -> list[Batch]:
    """Return the examples in batches of similar length, in random order."""
    mixed = chance.sample(examples, len(examples))
    chunks = [
        sorted(mixed[start : start + 8 * BATCH], key=lambda one: len(one.ids))
        for start in range(0, len(mixed), 8 * BATCH)
    ]
    groups = [chunk[start : start + BATCH] for chunk in chunks for start in range(0, len(chunk), BATCH)]
    return [batch(group, device) for group in chance.sample(groups, len(groups))]


def batch(group: Sequence[Tokens], device: str) -> Batch:
    """Return tokens filled up to the longest text's length."""
    longest = max(len(one.ids) for one in group)
    ids = torch.tensor([one.ids + [1] * (longest - len(one.ids)) for one in group], device=device)
    labels = torch.tensor([one.labels + [UNKNOWN] * (longest - len(one.ids)) for one in group], device=device)
    return Batch(ids, ids != 1, labels)


def loss_of(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the mean loss over labelled tokens; of one that is known to be not excluded, of that alone."""
    logs = scores.log_softmax(-1)
    exact = labels < NOT_EXCLUDED
    losses = nn.functional.nll_loss(logs[exact], labels[exact], reduction="sum")
    rest = logs[labels == NOT_EXCLUDED]
    losses = losses - torch.logsumexp(rest[:, [ASKED, NEUTRAL]], -1).sum()
    return losses / (labels < UNKNOWN).sum().clamp(min=1)


def train(
    tagger: Tagger,
    tokenizer: Tokenizer,
    texts: Sequence[Labelled],
    *,
    seed: int,
    epochs: int,
    rate: float,
    device: str,
    teachers: Sequence[Tagger] = (),
) -> Tagger:
    """Return the tagger trained on labelled texts, on the mean answers of ``teachers`` too where there are any."""
    torch.manual_seed(seed)
    chance = random.Random(seed)
    tagger.to(device).train()
    for part in (tagger.words, tagger.places, tagger.norm):
        part.requires_grad_(False)
    slow = [value for name, value in tagger.named_parameters() if not name.startswith("kinds") and value.requires_grad]
    optimizer = torch.optim.AdamW(
        [{"params": slow, "lr": rate}, {"params": tagger.kinds.parameters(), "lr": 10 * rate}], weight_decay=0.01
    )
    steps = max(1, epochs * -(-len(texts) // BATCH))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 50) * max(0.0, 1 - step / steps)
    )
    began = time.perf_counter()
    of_lang = defaultdict(list)
    for labelled in texts:
        of_lang[labelled.lang].append(labelled)
    for epoch in range(epochs):
        examples = [
            tokens(tokenizer, varied(joined(labelled, of_lang[labelled.lang], chance), chance)) for labelled in texts
        ]
        total = torch.zeros((), device=device)
        of_epoch = batches(examples, chance, device)
        for ids, mask, labels in of_epoch:
            scores = tagger(ids, mask)
            loss = loss_of(scores, labels)
            if teachers:
                loss = 0.3 * loss + distance(scores, ids, mask, teachers)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(tagger.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += loss.detach()
        mean, seconds = total.item() / len(of_epoch), time.perf_counter() - began
        print(f"seed {seed}, epoch {epoch + 1}: loss {mean:.4f}, {seconds:.0f} s")
    return tagger.eval()


def distance(scores: Tensor, ids: Tensor, mask: Tensor, teachers: Sequence[Tagger]) -> Tensor:
    """Return the mean distance (Kullback-Leibler) from the teachers' mean answer."""
    with torch.no_grad():
        wanted = torch.stack([teacher(ids, mask).softmax(-1) for teacher in teachers]).mean(0)
    return nn.functional.kl_div(scores.log_softmax(-1)[mask], wanted[mask], reduction="batchmean")
