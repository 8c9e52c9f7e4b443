"""How the command and Python perform a verb: inputs and outputs checked, its work done, results moved."""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from airrvec.app import verb_files
from airrvec.app.verb_options import LABELLED_VERBS, LEARNING_VERBS, WITH_FILE
from airrvec.app.verbs.work import Work


@contextmanager
def performed(verb: Callable[[Work], None], options: argparse.Namespace) -> Iterator[Work]:
    """
    Check what a verb writes, do its work, and move what it wrote to where it was told at the end.

    Parameters
    ----------
    verb : callable
        Of `airrvec.app.verbs`.
    options : argparse.Namespace
        Of the command or of `airrvec.app.verb_options.checked`. Without a place for the results they are in a
        temporary folder.

    Yields
    ------
    Work
        When it is done, and before results are moved.

    Raises
    ------
    InputError
        If an input cannot be read, or a result would replace a file that is not airrvec's.
    """
    samples = [] if options.verb in LABELLED_VERBS else verb_files.samples(options)
    place = options.out if options.verb in WITH_FILE else options.outdir
    outputs = verb_files.outputs(options, [sample.name for sample in samples]) if place else None
    if options.verb in LEARNING_VERBS:
        verb_files.checkpoints(options).check()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="airrvec-")))
        results = stack.enter_context(outputs.written()) if outputs else folder / "results"
        results.mkdir(exist_ok=True)
        work = Work(options, samples, folder, results)
        work.place = outputs.folder if outputs else results
        verb(work)
        yield work
