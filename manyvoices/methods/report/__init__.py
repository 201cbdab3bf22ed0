from ...core.registry import folder

__getattr__, __dir__ = folder(__name__)
