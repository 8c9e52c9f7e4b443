"""
Validate an RO-Crate without the network: python release/validate_crate.py PROFILE FOLDER

The validator's own `--offline` loads no JSON-LD context, and without one almost every check is empty. Here
the context is the one that comes with the package rocrate.
"""

import json
import sys
from pathlib import Path

import rocrate
from rdflib import Graph
from rocrate_validator import services
from rocrate_validator.models import validation

# That context is of version 1.3; these words of Bioschemas have moved since 1.1.
BIOSCHEMAS = "https://bioschemas.org/"
OF_1_1 = {
    "ComputationalWorkflow": f"{BIOSCHEMAS}ComputationalWorkflow",
    "FormalParameter": f"{BIOSCHEMAS}FormalParameter",
    "input": f"{BIOSCHEMAS}ComputationalWorkflow#input",
    "output": f"{BIOSCHEMAS}ComputationalWorkflow#output",
}
# They fetch the contexts that a crate names.
NEED_NETWORK = ("ro-crate-1.1_3.1", "ro-crate-1.1_3.2")


def graph(self) -> Graph:
    """Return the crate's triples."""
    stored = json.loads((Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_text())["@context"]
    crate = {**self.ro_crate.metadata.as_dict(), "@context": {**stored, **OF_1_1}}
    return Graph().parse(data=json.dumps(crate), format="json-ld", publicID=self.publicID)


def problems(profile: str, folder: str) -> list[str]:
    """Return a line for each required check that fails."""
    validation.ValidationContext.__load_data_graph__ = graph
    settings = {
        "rocrate_uri": folder,
        "profile_identifier": profile,
        "skip_availability_check": True,
    }
    issues = services.validate(settings).get_issues()
    return [
        f"{issue.check.identifier}: {issue.message} ({issue.violatingEntity})"
        for issue in issues
        if issue.check.identifier not in NEED_NETWORK
    ]


if __name__ == "__main__":
    found = problems(*sys.argv[1:])
    print("\n".join(found))
    sys.exit(1 if found else 0)
