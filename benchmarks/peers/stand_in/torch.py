"""A stand-in for torch: lets peerannot's aggregation models be imported without it. It computes nothing."""

import sys


class Anything(type):
    """Every attribute of such a class is the class itself, which can be called and be a base."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return cls


class Nothing(metaclass=Anything):
    """What torch and its parts are here."""


for _part in ("torch", "torch.nn", "torch.nn.functional", "torch.utils", "torch.utils.data"):
    sys.modules[_part] = Nothing
