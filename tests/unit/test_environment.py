"""What names the same packages and versions in several places."""

import re
import tomllib
from pathlib import Path

import yaml

import environments

ROOT = Path(__file__).parents[2]


def test_each_process_has_a_conda_environment_of_what_its_script_imports():
    """`make generated` brings them up to date."""
    expected = environments.environments()
    written = sorted((ROOT / "modules/local").glob("*/environment*.yml"))
    assert written == sorted(expected)
    assert [path for path in written if path.read_text() != expected[path]] == []


def packages(name: str) -> set[str]:
    """Return the names in an environment, of conda's packages and of pip's."""
    words = []
    for word in yaml.safe_load((ROOT / "modules/local" / name).read_text())["dependencies"]:
        words += word["pip"] if isinstance(word, dict) else [word]
    return {re.split("=+", word.split("::")[-1])[0] for word in words} - {"pip"}


def test_environments_hold_no_more_than_is_needed():
    embeds = packages("embed_receptors/environment.yml")
    assert packages("merge_embeddings/environment.yml") == {"python", "numpy", "pandas", "pyarrow"}
    assert "multiqc" in packages("report/environment.yml") & packages("render_report/environment.yml")
    assert "matplotlib-base" not in packages("render_report/environment.yml")
    assert packages("embed_receptors/environment_torch.yml") - embeds == {"pytorch"}
    assert {"pytorch", "lightning"} <= packages("finetune/environment.yml")
    assert not {"pytorch", "lightning", "transformers"} & packages("benchmark_fewshot/environment.yml")
    assert "transformers" in packages("benchmark_fewshot/environment_torch.yml")
    assert "bioconductor-singlecellexperiment" in packages("export_sce/environment.yml")


def test_every_dependency_has_a_name_for_conda():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"].values()
    asked = [*project["project"]["dependencies"], *project["dependency-groups"]["report"]]
    asked += [word for extra in extras for word in extra]
    names = {re.match(r"[\w-]+", word).group() for word in asked}
    assert names <= {row["pypi"] for row in environments.NAMES.values()}


def test_images_carry_the_version_of_the_pipeline():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    config = (ROOT / "nextflow.config").read_text()
    assert re.findall(r"^ *version += '(.*)'$", config, re.M) == [version]
    for name in ("images", "gpu"):
        images = (ROOT / f"conf/{name}.config").read_text()
        tags = re.findall(r"\{params\.registry\}/[a-z-]+:([^\"]*)\"", images)
        assert len(tags) == images.count("params.registry") > 0
        assert set(tags) == {version}
