"""Errors in the user's input, each reported in one sentence that says how to correct the input."""

import sys
from collections.abc import Collection, Sequence
from functools import partial, wraps
from importlib.util import find_spec
from numbers import Integral
from pathlib import Path
from typing import TypedDict

from airrvec.core.progress import reported
from airrvec.core.terminal import print_tracebacks, print_warning, printable

OUT_OF_MEMORY = 137  # exit status of a process that the system kills for lack of memory
LONGEST = 1_500  # characters of a message; parts of it come from the input


class Described(TypedDict):
    """The parameters of an `InputError`."""

    problem: str
    fix: str | None
    file: str | Path | None
    row: int | None
    column: str | None
    reasons: Sequence[str]


class InputError(Exception):
    """
    Error in the user's input that stops the run.

    Parameters
    ----------
    problem : str
        What is wrong, as a sentence without a full stop.
    fix : str, optional
        How to correct it, as a sentence without a full stop.
    file, row, column : optional
        Location of the error; ``row`` counts the data rows from 1, without the header.
    reasons : sequence of str, optional
        Messages of several errors, which the message lists, one per line, under ``problem``; ``fix`` ends it.

    Attributes
    ----------
    described : dict
        The parameters; another process rebuilds the error from them.
    """

    def __init__(
        self,
        problem: str,
        *,
        fix: str | None = None,
        file: str | Path | None = None,
        row: int | None = None,
        column: str | None = None,
        reasons: Sequence[str] = (),
    ):
        self.described: Described = {
            "problem": problem,
            "fix": fix,
            "file": str(file) if file else None,
            "row": row,
            "column": column,
            "reasons": list(reasons),
        }
        if reasons:
            listed = _listed(reasons, problem)
            super().__init__(f"{listed}\n{fix}." if fix else listed)
            return
        place = [
            Path(file).name if file else None,
            f"row {row}" if row else None,
            f"column '{column}'" if column else None,
        ]
        location = ", ".join(part for part in place if part)
        sentence = f"{location}: {problem}." if location else f"{problem}."
        super().__init__(_shown(f"{sentence} {fix}." if fix else sentence))

    def __reduce__(self):
        return partial(type(self), **self.described), ()  # pickled for another process


def no_file(path: str | Path, fix: str | None = None) -> InputError:
    """Return the error for a path that is no file: what is there instead."""
    path = Path(path)
    problem = "there is no such file"
    if path.is_dir():
        problem = "it is a folder, and a file is needed"
    elif path.exists():
        problem = "it is no regular file"
    return InputError(problem, file=path, fix=fix)


def kind(value: object) -> str:
    """
    Return what a value is, with its article, for messages.

    >>> kind(3), kind([]), kind(None)
    ('an int', 'a list', 'None')
    """
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def require_choice(name: str, word: object, choices: Collection[str]) -> None:
    """
    Raise `InputError` unless a word is one of some.

    Parameters
    ----------
    name : str
        Name of the argument or option.
    word : str
        Its value.
    choices : collection of str
        At least two.
    """
    if word not in choices:
        *first, last = choices
        raise InputError(f"{name} is {word!r}, and must be {', '.join(first)} or {last}")


def require_at_least_one(name: str, number: object) -> None:
    """Raise `InputError` unless an argument is a whole number from 1 on."""
    if not isinstance(number, Integral) or number < 1:
        raise InputError(f"{name} is {number!r}, and must be a whole number from 1 on")


def _shown(sentence: str) -> str:
    """Return a sentence in one line of bounded length, with control and invisible characters escaped."""
    if len(sentence) > LONGEST:
        sentence = f"{sentence[: 2 * LONGEST // 3]} … {sentence[-LONGEST // 3 :]}"
    return printable(sentence)


def _listed(reasons: Sequence[str], noun: str) -> str:
    """Return one message of all reasons; several reasons take one line each."""
    if len(reasons) == 1:
        return reasons[0]
    return "\n".join([f"{len(reasons)} {noun}:", *(f"- {reason}" for reason in reasons)])


def script_name(main) -> str:
    """Return the name of the script, or of the command, whose ``main`` this is."""
    name = Path(main.__code__.co_filename).stem
    return "airrvec" if main.__module__.startswith("airrvec.") else name


def exit_on_input_error(main):
    """
    Make a script's ``main`` print errors and exit: 1 on an `InputError`, 137 when memory runs out.

    Its ``__wrapped__`` raises them instead.
    """

    @wraps(main)
    def wrapped(argv=None) -> None:
        if argv is None:  # the process is this script's own
            print_tracebacks()
        try:
            with reported(script_name(main)):
                return main(argv)
        except InputError as error:
            print_warning(*f"ERROR: {error}".split("\n"))
            sys.exit(1)
        except MemoryError as error:  # same status as when the system kills it: Nextflow retries with more
            print_warning(f"ERROR: out of memory ({error})")
            sys.exit(OUT_OF_MEMORY)

    return wrapped


# --- Optional packages, and how to add them

# Extra of pyproject.toml → what a run imports of it.
EXTRAS = {
    "learn": ("lightning", "torch"),
    "plm": ("torch", "transformers"),
    "tensorboard": ("tensorboard",),
    "mlflow": ("mlflow",),
}


def is_installed(package: str) -> bool:
    """Return whether a package is installed, without importing it."""
    return find_spec(package) is not None


def require_extra(extra: str, purpose: str) -> None:
    """
    Check that the packages of an extra are installed, without importing them.

    Parameters
    ----------
    extra : str
        One of `EXTRAS`.
    purpose : str
        What needs them, as the beginning of a sentence.

    Raises
    ------
    InputError
        If a package is missing, with the command that adds it.
    """
    missing = [package for package in EXTRAS[extra] if not is_installed(package)]
    if missing:
        raise InputError(
            f"{purpose} needs {' and '.join(missing)}, not installed here",
            fix=f"Add the extra: make env EXTRAS={extra} in the folder of the pipeline,"
            f" or pip install 'airrvec[{extra}]'",
        )
