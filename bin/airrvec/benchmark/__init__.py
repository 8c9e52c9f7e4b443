"""
Few-shot prediction of epitopes, and specificity on held-out receptors.

The package can be called: ``airrvec.benchmark(…)`` is the function of `airrvec.app.learning_api`.
"""

import sys
from importlib import import_module
from inspect import Signature, signature
from types import ModuleType
from typing import Any


class _Function(ModuleType):
    """Package with the name of a function, which it passes calls on to."""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        return import_module("airrvec.app.learning_api").benchmark(*args, **settings)

    @property
    def __signature__(self) -> Signature:
        return signature(import_module("airrvec.app.learning_api").benchmark)


sys.modules[__name__].__class__ = _Function
