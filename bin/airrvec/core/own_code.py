"""Python files of a user: executed, and each problem put into one sentence with the file and its line."""

import traceback
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from numbers import Real
from pathlib import Path
from types import ModuleType
from typing import Any

from airrvec.core.errors import InputError, kind


class OwnCode:
    """
    A Python file of a user.

    Parameters
    ----------
    path : Path
        The file.
    contract : str
        Where the contract is written, as the advice of errors.
    passing : tuple of type
        Errors that pass as they are, beside `InputError` and `MemoryError`.
    """

    def __init__(self, path: Path, contract: str, passing: tuple[type[BaseException], ...] = ()):
        self.path, self.contract = path, contract
        self._passing = (InputError, MemoryError, *passing)

    def module(self) -> ModuleType:
        """
        Execute the file and return its module.

        Raises
        ------
        InputError
            If the file is missing or cannot be executed.
        """
        if not self.path.is_file():
            raise InputError(f"there is no file '{self.path}'", fix="Give the path of a Python file")
        from airrvec.core.compiled import extend_numba

        extend_numba()  # the file may use what others add
        spec = spec_from_file_location(self.path.stem, self.path)
        assert spec is not None  # of a .py file
        assert spec.loader is not None
        module = module_from_spec(spec)
        self.call("the file", spec.loader.exec_module, module)
        return module

    def require(self, module: ModuleType, *names: str) -> None:
        """Raise `InputError` unless a module defines names."""
        for name in names:
            if not hasattr(module, name):
                raise self.breach(f"defines no {name}")

    def title(self, module: ModuleType) -> str:
        """Return the module's ``TITLE``, or the name of the file if it is empty."""
        if not isinstance(module.TITLE, str):
            raise self.breach(f"TITLE is {short(module.TITLE)}, and must be text")
        return module.TITLE or self.path.stem

    def call(self, subject: str, function: Callable, *args, **options) -> Any:
        """Return what a function of the file returns; what ends it is one sentence with the file's line."""
        try:
            return function(*args, **options)
        except self._passing:
            raise
        except SystemExit as error:
            code = "" if error.code is None else repr(error.code)
            raise self.breach(f"{subject} ends the program: sys.exit({code}){self._line(error)}") from error
        except Exception as error:
            problem = f"{subject} fails with {type(error).__name__}: {str(error).rstrip('.')}"
            raise InputError(problem + self._line(error), file=self.path, fix="Mend the file") from error

    def require_callable(self, name: str, value: object) -> None:
        """Raise `InputError` unless a value of the file is a function."""
        if not callable(value):
            raise self.breach(f"{name} is {short(value)}, and must be a function")

    def breach(self, problem: str) -> InputError:
        """Return the error of a file that breaks the contract."""
        return InputError(problem, file=self.path, fix=self.contract)

    def _line(self, error: BaseException) -> str:
        """Return the last line of the file in an error's traceback, in words; nothing if there is none."""
        own = str(self.path.absolute())
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == own]
        return f" (line {frames[-1].lineno})" if frames else ""


def short(value: object) -> str:
    """Return a value in a few words: its type, and its content if this is short."""
    if value is None:
        return "None"
    shown = repr(value) if isinstance(value, str | Real | list | tuple) else ""
    return f"the {type(value).__name__} {shown}" if 0 < len(shown) <= 60 else kind(value)
