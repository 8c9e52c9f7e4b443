"""Errors that are the input's, said in one sentence to the person who can mend it."""

import sys
from pathlib import Path


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
        place = [
            Path(file).name if file else None,
            f"row {row}" if row else None,
            f"column '{column}'" if column else None,
        ]
        where = ", ".join(part for part in place if part)
        sentence = f"{where}: {problem}." if where else f"{problem}."
        super().__init__(f"{sentence} {fix}." if fix else sentence)


def exit_on_input_error(main):
    """Make a script's ``main`` print an `InputError` as one line and exit with status 1."""

    def wrapped(argv=None) -> None:
        try:
            return main(argv)
        except InputError as error:
            sentence = f"ERROR: {error}"
        # Without the error, whose frames hold a file half read: its threads would outlive Python.
        print(sentence, file=sys.stderr)
        sys.exit(1)

    return wrapped
