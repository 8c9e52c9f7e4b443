"""Write ro-crate-metadata.json: the pipeline as a Workflow RO-Crate, as nf-core's pipelines have it.

Without the network, unlike `nf-core pipelines rocrate`. Everything comes from files of the repository.
With `--check`, exits with a sentence if the file is not what they give.
"""

import argparse
import json
import re
import sys
import tempfile
import tomllib
from pathlib import Path

from rocrate.model import ComputationalWorkflow, ContextEntity, SoftwareApplication
from rocrate.model.testservice import TestService
from rocrate.rocrate import ROCrate

ROOT = Path(__file__).resolve().parents[1]
NAME = "ro-crate-metadata.json"
REPOSITORY = "https://github.com/airrvec/airrvec"
MIT = "https://spdx.org/licenses/MIT"
BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
GROUP = "#developers"
DIAGRAM = "docs/images/workflow.svg"
# File or folder → what it is
PARTS = {
    "nextflow.config": "Parameters and profiles",
    "nextflow_schema.json": "Every parameter: type, default, text, choices",
    "README.md": "What it is and how to start",
    "CHANGELOG.md": "What changed for the user",
    "CITATION.cff": "How to cite it",
    "CITATIONS.md": "What else to cite",
    "LICENSE": "The licence",
    "pyproject.toml": "Python package and dependencies",
    "uv.lock": "The same, pinned with checksums",
    "assets/": "Schema of the samplesheet, the report's configuration, small data",
    "bin/": "Scripts of the processes, and the library airrvec",
    "conf/": "Resources, profiles, presets of training",
    "containers/": "Images",
    "docs/": "Documentation",
    "modules/": "Processes",
    "subworkflows/": "Parts of a run",
    "tests/": "Tests",
}


def crate() -> ROCrate:
    """Return the crate, of the files that are in the repository now."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    config = (ROOT / "nextflow.config").read_text()
    made = ROCrate(version="1.1")
    made.name = "airrvec/airrvec"
    made.description = (ROOT / "README.md").read_text()  # as nf-core, whose lint compares it
    made.license = made.add(
        ContextEntity(made, MIT, {"@type": "CreativeWork", "name": "MIT License", "url": MIT})
    )
    made.creativeWorkStatus = "Stable"
    made.keywords = project["keywords"]
    made.isBasedOn = REPOSITORY
    made.root_dataset["url"] = REPOSITORY
    dated = re.search(r"^date-released: (.*)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    year = re.search(r"Copyright \(c\) (\d{4})", (ROOT / "LICENSE").read_text())
    made.datePublished = (dated or year).group(1)  # no date before the first release

    group = made.add(
        ContextEntity(made, GROUP, {"@type": "Organization", "name": project["authors"][0]["name"]})
    )
    group["url"] = REPOSITORY
    made.publisher = made.creator = group
    image = {"@type": ["File", "ImageObject"], "name": "Parts of a run", "encodingFormat": "image/svg+xml"}
    picture = made.add_file(ROOT / DIAGRAM, DIAGRAM, properties=image)
    needed = re.search(r"nextflowVersion = '(.*)'", config).group(1)
    workflow = made.add_workflow(ROOT / "main.nf", "main.nf", main=True, lang="nextflow", lang_version=needed)
    described = {
        "name": made.name,
        "description": project["description"],
        "version": project["version"],
        "conformsTo": {"@id": BIOSCHEMAS},
        "keywords": project["keywords"],
        "url": REPOSITORY,
        "license": made.license,
        "creator": group,
        "image": picture,
        "sdPublisher": group,
    }
    for key, value in described.items():
        workflow[key] = value
    for path, text in PARTS.items():
        add = made.add_directory if path.endswith("/") else made.add_file
        add(ROOT / path, path, properties={"name": path, "description": text})
    add_tests(made, workflow)
    return made


def add_tests(made: ROCrate, workflow: ComputationalWorkflow) -> None:
    """Add the tests, and where they run."""
    pytest = SoftwareApplication(
        made, "https://docs.pytest.org", {"name": "pytest", "url": "https://docs.pytest.org"}
    )
    actions = {"name": "GitHub Actions", "url": {"@id": "https://github.com"}}
    service = made.add(TestService(made, "https://w3id.org/ro/terms/test#GithubService", actions))
    suite = made.add_test_suite("#tests", name="Tests of airrvec", main_entity=workflow)
    made.add_test_instance(
        suite,
        REPOSITORY,
        resource="actions/workflows/tests.yml",
        service=service,
        identifier="#github",
        name="GitHub",
    )
    made.add_test_definition(
        suite,
        ROOT / ".github/workflows/tests.yml",
        ".github/workflows/tests.yml",
        engine=made.add(pytest),
        properties={"name": "make test"},
    )


def text() -> str:
    """Return the metadata file: the root first, as nf-core's lint expects it."""
    made = crate()
    with tempfile.TemporaryDirectory() as folder:
        made.metadata.write(folder)
        metadata = json.loads((Path(folder) / NAME).read_text())
    metadata["@graph"] = [
        {
            key: value[0] if isinstance(value, list) and len(value) == 1 else value
            for key, value in entity.items()
        }
        for entity in metadata["@graph"]
    ]
    return json.dumps(metadata, indent=4, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the file, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    path = ROOT / NAME
    if not parser.parse_args().check:
        path.write_text(text())
    elif not path.exists() or path.read_text() != text():
        sys.exit(f"{NAME} is out of date: make {NAME}")


if __name__ == "__main__":
    main()
