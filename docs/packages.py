"""Write what each package of the library imports into ``docs/developing.md``: ``make generated``."""

import re
from pathlib import Path

import grimp

PAGE = Path(__file__).with_name("developing.md")
HEADER = "| Package | Imports | Holds |\n|---|---|---|\n"


def imports() -> dict[str, list[str]]:
    """Return each package → the packages that it imports, both in the order of the layers."""
    graph = grimp.build_graph("airrvec", cache_dir=None)
    packages = {name.split(".")[1] for name in graph.modules if name.count(".") == 2}
    imported = {
        package: {
            other
            for other in packages - {package}
            if graph.direct_import_exists(
                importer=f"airrvec.{package}", imported=f"airrvec.{other}", as_packages=True
            )
        }
        for package in packages
    }
    order = sorted(packages, key=lambda package: (len(_all_below(package, imported)), package))
    return {package: [other for other in order if other in imported[package]] for package in order}


def _all_below(package: str, imported: dict[str, set[str]]) -> set[str]:
    """Return the packages that a package needs, directly or not."""
    return imported[package].union(*(_all_below(other, imported) for other in imported[package]))


def with_imports(page: str) -> str:
    """Return the page with a row for each package, in their order; the last column stays."""
    before, _, rest = page.partition(HEADER)
    rows, end, after = rest.partition("\n\n")
    holds = dict(re.findall(r"^\| `(\w+)` \|[^|]*\| (.*) \|$", rows, re.MULTILINE))
    written = [
        f"| `{package}` | {', '.join(others) or '–'} | {holds.get(package, '')} |"
        for package, others in imports().items()
    ]
    return before + HEADER + "\n".join(written) + end + after


if __name__ == "__main__":
    PAGE.write_text(with_imports(PAGE.read_text()))
