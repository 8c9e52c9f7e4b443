"""Errors in the user's input, each reported in one sentence that says how to correct the input."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

OUT_OF_MEMORY = 137  # exit status of a process that the system kills for lack of memory
LONGEST = 1_500  # characters of a message; parts of it come from the input


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
        Messages of several errors, which the message lists, one per line, under ``problem``.

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
        self.described = {
            "problem": problem,
            "fix": fix,
            "file": str(file) if file else None,
            "row": row,
            "column": column,
            "reasons": list(reasons),
        }
        if reasons:
            super().__init__(_listed(reasons, problem))
            return
        place = [
            Path(file).name if file else None,
            f"row {row}" if row else None,
            f"column '{column}'" if column else None,
        ]
        where = ", ".join(part for part in place if part)
        sentence = f"{where}: {problem}." if where else f"{problem}."
        super().__init__(_shown(f"{sentence} {fix}." if fix else sentence))

    def __reduce__(self):
        return partial(type(self), **self.described), ()  # pickled for another process


def _shown(sentence: str) -> str:
    """Return a sentence in one line of bounded length, with control and invisible characters escaped."""
    if len(sentence) > LONGEST:
        sentence = f"{sentence[: 2 * LONGEST // 3]} … {sentence[-LONGEST // 3 :]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in sentence)


def _listed(reasons: Sequence[str], what: str) -> str:
    """Return one message of all reasons; several reasons take one line each."""
    if len(reasons) == 1:
        return reasons[0]
    return "\n".join([f"{len(reasons)} {what}:", *(f"- {reason}" for reason in reasons)])


def exit_on_input_error(main):
    """Make a script's ``main`` print errors and exit: 1 on an `InputError`, 137 when memory runs out."""

    def wrapped(argv=None) -> None:
        try:
            return main(argv)
        except InputError as error:
            print(f"ERROR: {error}", file=sys.stderr)
            sys.exit(1)
        except MemoryError as error:  # same status as when the system kills it: Nextflow retries with more
            print(f"ERROR: out of memory ({error})", file=sys.stderr)
            sys.exit(OUT_OF_MEMORY)

    return wrapped
