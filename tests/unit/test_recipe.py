"""The conda recipe holds what pyproject.toml holds."""

import csv
import tomllib

import airrvec

import jinja2
import pytest
import yaml
from inputs import ROOT
from packaging.requirements import Requirement

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Name on PyPI → on conda-forge, where it is there.
CONDA_NAMES = {
    row["pypi"]: row["conda"].removeprefix("conda-forge::")
    for row in csv.DictReader((ROOT / "release/conda.tsv").read_text().splitlines(), delimiter="\t")
    if row["conda"]
}
# Keys of conda-build.
SECTIONS = {
    "package": {"name", "version"},
    "source": {"url", "sha256"},
    "build": {"noarch", "number", "script", "entry_points", "run_exports"},
    "requirements": {"host", "run", "run_constrained"},
    "test": {"imports", "commands"},
    "about": {
        *("home", "dev_url", "doc_url", "summary"),
        *("license", "license_family", "license_file"),
    },
    "extra": {"recipe-maintainers"},
}


def conda(requirement: str) -> str:
    """Return a requirement of pyproject.toml as conda writes it."""
    parsed = Requirement(requirement)
    versions = sorted(map(str, parsed.specifier), key=lambda version: version.startswith("<"))
    return f"{CONDA_NAMES.get(parsed.name, parsed.name)} {','.join(versions)}"


@pytest.fixture(scope="module")
def recipe():
    """Render the recipe as conda-build does."""
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701 - YAML
    template = environment.from_string((ROOT / "recipes/airrvec/meta.yaml").read_text())
    known = {"PYTHON": "python", "pin_subpackage": lambda name, max_pin: f"{name} {max_pin}"}
    return yaml.safe_load(template.render(known))


def test_the_sections_and_keys_are_those_of_conda_build(recipe):
    assert {section: set(keys) for section, keys in recipe.items()} == SECTIONS
    assert recipe["build"]["noarch"] == "python"
    assert recipe["build"]["run_exports"] == ["airrvec x.x"]


def test_its_requirements_are_those_of_the_wheel(recipe):
    project, requirements = PROJECT["project"], recipe["requirements"]
    python = conda(f"python{project['requires-python']}")
    assert requirements["run"] == [python, *map(conda, project["dependencies"])]
    assert requirements["host"] == [python, "pip", *map(conda, PROJECT["build-system"]["requires"])]
    extras = {conda(line) for lines in project["optional-dependencies"].values() for line in lines}
    assert requirements["run_constrained"] == sorted(extras)


def test_its_description_is_that_of_the_wheel(recipe):
    project, about = PROJECT["project"], recipe["about"]
    assert recipe["package"] == {"name": project["name"], "version": airrvec.__version__}
    assert recipe["source"]["url"].endswith(f"/a/airrvec/airrvec-{airrvec.__version__}.tar.gz")
    commands = [f"{name} = {target}" for name, target in project["scripts"].items()]
    assert recipe["build"]["entry_points"] == commands
    assert (about["summary"], about["license"]) == (project["description"], project["license"])
    assert about["license_file"] == project["license-files"]
    assert all((ROOT / path).is_file() for path in about["license_file"])
    assert (about["home"], about["doc_url"]) == (
        project["urls"]["Homepage"],
        project["urls"]["Documentation"],
    )
