"""How a network is trained: the options every trained method shares."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..core.errors import BadCall

STREAMS = ("init", "order", "dropout", "augment", "negatives")


@dataclass(frozen=True, slots=True)
class Training:
    """The defaults are one recipe for all methods, not tuned to any of them.

    Also: epochs=n_epochs; batch=batch_size; augment=data_augmentation; patience=early_stopping

    Parameters
    ----------
    encoder
        What turns an item into numbers: minilm, efficientnet, voice, pixels, patches, tfidf, features, a folder saved
        by transformers, or hf:ORG/NAME; auto is tfidf for text, pixels for images, features for vectors.
    finetune
        Train the encoder too, where it can be trained.
    pretrained
        Start --finetune from the encoder's weights; --no-pretrained starts from random ones.
    freeze
        Leave the encoder's weights as they are while it is shown augmented images; pixels keeps its random ones.
    epochs
        How often every training item is seen.
    batch
        Items a step; 0 is a sixteenth of the training items, from 4 to 64, so that few items still make enough steps.
    lr
        Learning rate of the network's head and of the workers' parameters.
    encoder_lr
        Learning rate of the encoder's last layer, with --finetune.
    layer_decay
        Each layer of the encoder below has its learning rate multiplied by this, with --finetune.
    optimizer
        Which optimiser: adamw, adam, radam or sgd.
    decay
        Weight decay of the network; the workers' parameters have none.
    momentum
        Momentum of sgd.
    scheduler
        How the learning rate goes: cosine (down to 0; with --milestones 10 anew every 10 epochs, down to 0.0001),
        multistep, or constant.
    milestones
        Epochs after which multistep multiplies the learning rate by --lr-decay, such as 50,75.
    lr_decay
        The factor of multistep.
    warmup
        Epochs over which the learning rate rises from 0.
    clip
        Largest norm of the gradient; 0 for no limit.
    hidden
        Width of the hidden layer between encoder and classes; 0 for none.
    dropout
        Share of the hidden layer that is dropped in training.
    keep
        Which weights are kept: best (by the answers to the dev items) or last.
    patience
        Stop after so many epochs without a better score on the dev items; 0 for never.
    augment
        Shift, mirror and crop training images at random.
    class_weights
        balanced weighs answers against the frequency of their class.
    ordered
        How classes in an order are learnt: cumulative (one number and thresholds between the classes), distance (an
        error weighs by how far off it is; classifier and base), none; auto is cumulative for --scale ordinal.
    path_remove
        A file that lists items to leave out of learning, such as too_hard.txt: an index and a task, or a task, a line.
    calibrate
        Fit a temperature for the probabilities on the answers (or labels) of the dev items.
    accumulate
        Batches whose gradients are added before a step: --batch 16 --accumulate 4 is --batch 64 in less memory.
    seed
        For the start, the order of items, dropout, and the split where the data have none.
    seeds
        Seeds of their own for some of init, order, dropout, augment and negatives, such as init=1,order=2.
    device
        auto, cpu, cuda or cuda:N.
    precision
        auto, float32 or bf16; auto takes bf16 for trained encoders where the machine has it.
    """

    encoder: str = "auto"
    finetune: bool = False
    pretrained: bool = True
    freeze: bool = False
    epochs: int = 30
    batch: int = 0
    lr: float = 0.001
    encoder_lr: float = 0.00005
    layer_decay: float = 0.9
    optimizer: Literal["adamw", "adam", "radam", "sgd"] = "adamw"
    decay: float = 0.0001
    momentum: float = 0.9
    scheduler: Literal["cosine", "multistep", "constant"] = "cosine"
    milestones: str = ""
    lr_decay: float = 0.1
    warmup: int = 0
    clip: float = 5.0
    hidden: int = 128
    dropout: float = 0.1
    keep: Literal["best", "last"] = "best"
    patience: int = 0
    augment: bool = False
    class_weights: Literal["none", "balanced"] = "none"
    ordered: Literal["auto", "none", "cumulative", "distance"] = "auto"
    path_remove: str = ""
    calibrate: bool = False
    accumulate: int = 1
    seed: int = 0
    seeds: str = ""
    device: str = "auto"
    precision: Literal["auto", "float32", "bf16"] = "auto"
    folder: Path | None = None  # for check points; not an option but where the result goes

    def items_a_step(self, items: int) -> int:
        return self.batch or min(max(items // 16, 4), 64)

    def stream(self, name: str, *at: int) -> list[int]:
        """Where the random numbers of one kind begin: one can vary while the others stay."""
        own: dict[str, int] = {}
        for part in filter(None, self.seeds.replace(" ", "").split(",")):
            which, _, number = part.partition("=")
            if which not in STREAMS or not number.isdigit():
                raise BadCall(
                    f"--seeds {self.seeds}: expected {', '.join(STREAMS)} with a number, such as init=1,order=2"
                )
            own[which] = int(number)
        return [own.get(name, self.seed), STREAMS.index(name), *at]
