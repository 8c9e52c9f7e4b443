"""What needs an extra, and what is said where it is missing."""

import subprocess
import sys

from airrvec import encoders
from airrvec.core import devices, errors
from airrvec.core.errors import InputError

import pytest
from inputs import ROOT

from benchmarks.installing.import_time import BUDGETS, LEARNING, imports

BIN = ROOT / "bin"


@pytest.fixture
def without_extras(monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)


def test_the_core_imports_nothing_of_an_extra():
    scripts = [script for script in BIN.glob("*.py") if script.stem not in LEARNING]
    assert len(scripts) > 20
    code = ["import sys"]
    code += ["sys.modules.update(dict.fromkeys(('torch', 'lightning', 'transformers', 'multiqc')))"]
    code += [line for script in scripts for line in imports(script.read_text())]
    done = subprocess.run([sys.executable, "-c", "\n".join(code)], cwd=BIN, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_every_script_has_a_budget_for_its_imports():
    assert {script.stem for script in BIN.glob("*.py")} == {*BUDGETS, *LEARNING}


def test_the_report_does_not_import_what_draws():
    code = ["import sys", *imports((BIN / "report.py").read_text()), "print('matplotlib' in sys.modules)"]
    done = subprocess.run([sys.executable, "-c", "\n".join(code)], cwd=BIN, capture_output=True, text=True)
    assert done.stdout == "False\n"


LEARN, PLM = ("learn", "lightning and torch"), ("plm", "torch and transformers")


@pytest.mark.parametrize(
    ("arguments", "purpose", "missing"),
    [
        ("finetune --cells c --receptors r --preset p", "fine-tuning", LEARN),
        ("pretrain r --preset p", "pre-training", LEARN),
        ("check_device --device cpu --extras plm", "a protein language model", PLM),
        ("check_device --device auto", "a GPU", LEARN),
        ("embed_receptors r --out o --device gpu", "a GPU", LEARN),
    ],
)
def test_a_missing_extra_is_one_sentence_with_its_command(
    without_extras, monkeypatch, capsys, arguments, purpose, missing
):
    monkeypatch.syspath_prepend(BIN)
    script, *argv = arguments.split()
    with pytest.raises(SystemExit) as ending:
        __import__(script).main(argv)
    assert ending.value.code == 1
    extra, packages = missing
    fix = f"make env EXTRAS={extra} in the folder of the pipeline, or pip install 'airrvec[{extra}]'"
    error = f"ERROR: {purpose} needs {packages}, not installed here. Add the extra: {fix}.\n"
    assert capsys.readouterr().err == error


def test_a_gpu_needs_torch_alone(monkeypatch):
    """As in conda's environment of EMBED_RECEPTORS."""
    monkeypatch.setattr(errors, "find_spec", lambda name: name == "torch" or None)
    devices.require_torch()


def test_a_language_model_without_its_extra_names_the_model(without_extras):
    with pytest.raises(InputError, match="TCR-BERT needs torch and transformers"):
        encoders.load("tcr_bert")


def test_the_extras_are_those_of_the_package():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {
        extra: {requirement.split(">")[0].removesuffix("-skinny") for requirement in requirements}
        for extra, requirements in project["optional-dependencies"].items()
    }
    assert declared == {extra: set(packages) for extra, packages in errors.EXTRAS.items()}
