"""What is fetched is pinned: packages by hash, base images by digest. Models are read from the disk alone."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
LOCK = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
SOURCES = [path for folder in ("bin", "containers", "release") for path in (ROOT / folder).rglob("*.py")]
CALLS = [
    call for path in SOURCES for call in ast.walk(ast.parse(path.read_text())) if isinstance(call, ast.Call)
]


def calls(*names: str) -> list[dict[str, str]]:
    """Return the arguments given by name of all calls of functions in the code that is shipped."""
    return [
        {word.arg: ast.unparse(word.value) for word in call.keywords}
        for call in CALLS
        if any(re.fullmatch(name, ast.unparse(call.func)) for name in names)
    ]


def without_hash(packages: list[dict]) -> list[str]:
    """Return the packages of a lock whose source is not PyPI or of which a file has no SHA-256."""
    wrong = []
    for package in packages:
        files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
        own = package["source"] == {"virtual": "."}
        pinned = files and all(SHA256.fullmatch(file.get("hash", "")) for file in files)
        listed = package["source"] == {"registry": "https://pypi.org/simple"}
        if not own and not (pinned and listed):
            wrong.append(package["name"])
    return wrong


def test_every_file_of_the_lock_has_a_hash():
    assert len(LOCK) > 100
    assert without_hash(LOCK) == []
    some = next(package for package in LOCK if package.get("wheels"))
    assert without_hash([{**some, "wheels": [{"url": "x"}]}]) == [some["name"]]
    assert without_hash([{**some, "source": {"git": "x"}}]) == [some["name"]]


def test_uv_and_nextflow_are_pinned_by_hash():
    assert re.search(r"^uv==\S+ \\$", (ROOT / "containers/uv.txt").read_text(), re.M)
    assert SHA256.search((ROOT / "containers/uv.txt").read_text())
    for path in (ROOT / "containers/nextflow").glob("*.sha256"):
        assert all(re.match(r"[0-9a-f]{64}\s+\S", line) for line in path.read_text().splitlines()), path.name


@pytest.mark.parametrize("name", ["containers/Dockerfile", "containers/r/Dockerfile"])
def test_images_are_built_on_a_digest(name):
    text = (ROOT / name).read_text()
    given = dict(re.findall(r"^ARG (\w*BASE)=(\S+)$", text, re.M))
    assert given
    assert all(re.search(r":[\w.-]+@sha256:[0-9a-f]{64}$", base) for base in given.values())
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", text, re.M))
    bases = re.findall(r"^FROM (\S+)", text, re.M)
    assert all(base in stages or base.strip("${}") in given for base in bases)


def test_models_of_the_hub_are_read_from_the_disk_and_name_a_revision():
    loaded = calls(r".*\.from_pretrained", "snapshot_download", "hf_hub_download")
    assert len(loaded) == 4
    assert {given.get("local_files_only") for given in loaded} == {"True"}
    assert [given.get("revision") for given in calls("snapshot_download", "hf_hub_download")] == ["REVISION"]


def test_weights_and_arrays_are_no_code():
    """`test_language_models.py` gives a pickle that is code, in vain."""
    for function, option, value in (
        ("torch.load", "weights_only", "True"),
        ("AutoModel.from_pretrained", "weights_only", "True"),
        ("np.load", "allow_pickle", "False"),
    ):
        assert {given.get(option) for given in calls(function)} == {value}, function
    assert [given for given in calls(r".*\.from_pretrained") if "trust_remote_code" in given] == []
    assert calls(r"pickle\.loads?", r".*joblib\.load", "yaml.load", "pd.read_pickle") == []


def test_ruff_checks_all_rules_of_bandit_and_each_exception_has_a_reason():
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    assert "S" in rules["select"]
    left_out = {rule for rule in rules["ignore"] if rule.startswith("S")}
    # Asserts; programs that are started without a shell.
    assert left_out == {"S101", "S603", "S607"}
    excused = {
        (rule, path.split("/")[0])
        for path, found in rules["per-file-ignores"].items()
        for rule in found
        if rule.startswith("S")
    }
    # Random numbers that are no secrets; names of columns in SQL, whose values are parameters.
    assert excused == {("S311", "benchmarks"), ("S311", "tests"), ("S608", "bin")}
    lines = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in ("bin", "tests", "benchmarks", "docs", "release", "containers")
        for path in (ROOT / folder).rglob("*.py")
        for line in path.read_text().splitlines()
        if re.search(r"# noqa: (?:\w+, ?)*S\d+", line) and path != Path(__file__)
    ]
    assert lines
    assert [line for line in lines if not re.search(r"# noqa: \S+(?:, \S+)* - \w", line)] == []
