"""The examples in docstrings, run as doctests."""

import doctest
import importlib
import inspect
import warnings
from pathlib import Path

import airrvec

import pytest

LIBRARY = Path(airrvec.__file__).parent
MODULES = [
    ".".join(("airrvec", *path.relative_to(LIBRARY).with_suffix("").parts))
    for path in sorted(LIBRARY.rglob("*.py"))
    if ">>> " in path.read_text()
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_show_what_the_functions_return(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)  # an example writes a file
    module = importlib.import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for example in finder.find(module, name):
            runner.run(example)
    assert runner.failures == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(set(airrvec.__all__) - {"__version__"}))
def test_every_public_function_has_an_example(name):
    assert "\nExamples\n--------\n" in inspect.getdoc(getattr(airrvec, name))
