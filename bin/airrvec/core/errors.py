"""Errors that are the input's, said in one sentence to the person who can mend it."""

import sys
from pathlib import Path

OUT_OF_MEMORY = 137  # exit status of a process that the system has killed for its memory
LONGEST = 1_500  # characters of a sentence, of which the input gives some


class InputError(Exception):
    """
    Something in the user's input that the run cannot go on with.

    Parameters
    ----------
    problem : str
        What is wrong, as a sentence without its full stop.
    fix : str, optional
        What to do about it.
    file, row, column : optional
        Where; ``row`` counts the data rows from 1, the header not included.

    Attributes
    ----------
    described : dict
        The parameters, to make the same error elsewhere.
    """

    def __init__(
        self,
        problem: str,
        *,
        fix: str | None = None,
        file: str | Path | None = None,
        row: int | None = None,
        column: str | None = None,
    ):
        self.described = {
            "problem": problem,
            "fix": fix,
            "file": str(file) if file else None,
            "row": row,
            "column": column,
        }
        place = [
            Path(file).name if file else None,
            f"row {row}" if row else None,
            f"column '{column}'" if column else None,
        ]
        where = ", ".join(part for part in place if part)
        sentence = f"{where}: {problem}." if where else f"{problem}."
        super().__init__(_shown(f"{sentence} {fix}." if fix else sentence))

    @classmethod
    def several(cls, reasons: list[str], what: str) -> "InputError":
        """One error of several, whose messages keep a line each."""
        error = cls(what)
        error.args = (together(reasons, what),)
        return error


def _shown(sentence: str) -> str:
    """A sentence in one line of bounded length; characters that a terminal obeys or hides, by their codes."""
    if len(sentence) > LONGEST:
        sentence = f"{sentence[: 2 * LONGEST // 3]} … {sentence[-LONGEST // 3 :]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in sentence)


def together(reasons: list[str], what: str) -> str:
    """One message of all reasons, a line each where there are several."""
    if len(reasons) == 1:
        return reasons[0]
    return "\n".join([f"{len(reasons)} {what}:", *(f"- {reason}" for reason in reasons)])


def exit_on_input_error(main):
    """Make a script's ``main`` print an `InputError` in one line and exit with 1, or 137 without memory."""

    def wrapped(argv=None) -> None:
        try:
            return main(argv)
        except InputError as error:
            print(f"ERROR: {error}", file=sys.stderr)
            sys.exit(1)
        except MemoryError as error:  # as when the system kills it: Nextflow tries again with more
            print(f"ERROR: there is too little memory ({error})", file=sys.stderr)
            sys.exit(OUT_OF_MEMORY)

    return wrapped
