"""Places that have to say the same: registries, schema, configuration, documents."""

import ast
import json
import re
import runpy
from dataclasses import fields
from pathlib import Path

import airrvec
from airrvec.app import manifest
from airrvec.core import schema
from airrvec.evaluation import scoring
from airrvec.input import reading
from airrvec.model import transformer
from airrvec.training import presets

import pytest

ROOT = Path(__file__).parents[2]
GROUPS = json.loads((ROOT / "nextflow_schema.json").read_text())["$defs"].values()
PARAMETERS = {name: definition for group in GROUPS for name, definition in group["properties"].items()}
PROCESSES = sorted(path.parent.name for path in (ROOT / "modules/local").glob("*/main.nf"))
TABLES = (
    schema.COLLECTED_RECEPTORS,
    schema.MAP,
    schema.CELLS,
    schema.REJECTS,
    schema.AUROC,
    schema.AUROC_SUMMARY,
    schema.COMPARISONS,
    schema.ROC,
    schema.NOT_EVALUATED,
    schema.GENERATION,
    schema.NOT_DONE,
    schema.SPLIT,
    schema.SPECIFICITY,
    schema.TRAINING,
    schema.TRAINING_TIMES,
    schema.CLUSTERS,
    schema.CLUSTER_MEMBERS,
    schema.CLUSTER_MOTIFS,
    schema.CONDITION_TESTS,
    schema.CONDITION_MEASURES,
    schema.DIVERSITY,
    schema.RAREFACTION,
    schema.CLONES,
    schema.CLONE_COUNTS,
    schema.CLONE_MEMBERS,
    schema.LARGEST_CLONES,
    schema.CLONE_SIZES,
    schema.GENE_USAGE,
    schema.CDR3_LENGTHS,
    schema.VJ_PAIRING,
    schema.SAMPLE_PAIRS,
    schema.SAMPLES_PCA,
    schema.CONDITION_TOLD,
    schema.PUBLIC_RECEPTORS,
    schema.ANNOTATION,
    schema.ANNOTATION_REFERENCE,
    schema.ANNOTATION_EPITOPES,
)
# A run goes on without them.
OPTIONAL = {
    *(
        "analyse_generation",
        "analyse_receptors",
        "analyse_results",
        "annotate_receptors",
        "associate_hla",
        "benchmark_fewshot",
    ),
    *(
        "calibrate_annotation",
        "cluster_receptors",
        "compare_conditions",
        "compare_samples",
        "export_airr",
        "export_anndata",
    ),
    *(
        "describe_cells",
        "describe_gamma_delta",
        "describe_samples",
        "embed_background",
        "export_sce",
        "handover",
        "map_receptors",
        "place_receptors",
    ),
    "merge_references",
    "summarise_fewshot",
}
# Names that say nothing of what they hold: hits, query, reference, columns or path say it.
EMPTY_WORDS = {"found", "asked", "given", "looked", "others", "those", "findable"}
EMPTY_NAMES = EMPTY_WORDS | {"alone", "asking", "called", "its", "of", "what", "where"}
EMPTY_PREFIXES = ("by_", "its_", "of_")
LONGEST_FUNCTION = 60  # lines, without the docstring
CODE = {
    path: ast.parse(path.read_text())
    for folder in ("bin", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
}
PRESETS = sorted(path.stem for path in (ROOT / "conf/models").glob("*.json"))


def page(path: str) -> str:
    """Return the text of a page of ``docs/``."""
    return (ROOT / "docs" / path).read_text()


def test_settings_hold_what_the_registries_hold():
    assert PARAMETERS["benchmark_rules"]["default"] == ",".join(scoring.DEFAULT_RULES)
    assert PARAMETERS["benchmark_chains"]["choices"] == ["paired", "alpha", "beta"]
    assert PARAMETERS["species"]["enum"] == list(schema.SPECIES)


def test_json_never_holds_a_bare_nan():
    """`json.dumps` writes NaN, which is no JSON, unless it is told not to."""
    calls = [
        (path.name, node)
        for path in (ROOT / "bin").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("json.dumps", "json.dump")
    ]
    assert {name for name, _ in calls} >= {"tables.py"}
    careless = [
        (name, node.lineno)
        for name, node in calls
        if not any(word.arg == "allow_nan" and ast.unparse(word.value) == "False" for word in node.keywords)
    ]
    assert careless == []


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("seeds.py", r"default_rng|SeedSequence|RandomState|PCG64"),
        ("runtime.py", r"set_num_threads|threadpool_limits|ThreadPoolExecutor|set_cpu_count|_NUM_THREADS"),
        ("database.py", r"duckdb\.connect"),
    ],
)
def test_seeds_threads_and_duckdb_have_one_place(place, words):
    code = {path: path.read_text() for path in (ROOT / "bin").rglob("*.py")}
    assert [path for path in code if re.search(words, code[path])] == [ROOT / "bin/airrvec/core" / place]


def test_one_version_everywhere():
    version = airrvec.__version__
    config = (ROOT / "nextflow.config").read_text()
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text()
    assert re.search(rf"\n    version +(=) '{re.escape(version)}'", config)


def test_images_start_from_a_digest_of_a_day():
    files = sorted((ROOT / "containers").rglob("Dockerfile"))
    assert len(files) == 2
    for path in files:
        text = path.read_text()
        bases = dict(re.findall(r"# Of (\d{4}-\d\d-\d\d)\..*\nARG \w*BASE=(.*)", text))
        assert len(bases) == text.count("BASE=") == 1
        for date, base in bases.items():
            assert re.fullmatch(f"debian:[a-z]+-{date.replace('-', '')}-slim@sha256:" + "[0-9a-f]{64}", base)
        stages = set(re.findall(r"^FROM \S+ AS (\S+)", text, re.M))
        assert set(re.findall(r"^FROM (\S+)", text, re.M)) <= {"$BASE", "$R_BASE"} | stages
        assert "USER 1000" in text
    snapshot = re.search(r"ARG SNAPSHOT=http://snapshot\.debian\.org/archive/debian/(\d{8})T000000Z\n", text)
    assert f"-{snapshot[1]}-" in base


def test_every_published_file_is_written_anew_and_its_folder_known():
    config = (ROOT / "conf/modules.config").read_text()
    rules = re.findall(r"\[path: \{ \"\$\{params\.outdir\}/?([^\"]*)\" \}(.*)\]", config)
    assert len(rules) == config.count("publish_dir_mode") > 20
    assert all("overwrite: true" in rule for _folder, rule in rules)
    folders = {folder.split("/")[0] for folder, _rule in rules}
    assert folders - {"", "pipeline_info"} == set(manifest.FOLDERS)


@pytest.mark.parametrize("path", sorted(ROOT.glob("modules/*/*/main.nf")), ids=lambda path: path.parent.name)
def test_words_of_a_process_with_names_have_parentheses(path):
    """Without them Nextflow's parser fails in its quick mode, and reads the file a second time."""
    words = re.findall(r"^    (?:path|tuple|env|eval|stdout|ext)\b.*$", path.read_text(), re.M)
    bare = [re.sub(r"'[^']*'|\"[^\"]*\"|//.*", "", word) for word in words]
    while any("(" in word for word in bare):
        bare = [re.sub(r"\([^()]*\)", "", word) for word in bare]
    assert [word for word in bare if re.search(r"\w: ", word)] == []


@pytest.mark.parametrize("name", PROCESSES)
def test_what_a_run_goes_on_without_says_why_it_is_missing(name):
    module = (ROOT / f"modules/local/{name}/main.nf").read_text()
    optional = "label 'process_optional'" in module
    assert optional == (name in OPTIONAL)
    assert optional == ("emit: ended" in module)
    if name != "export_sce":  # its R knows no errors of the input
        script = ROOT / f"bin/{name}.py"
        assert optional == bool(re.search("--missing\\W+missing/", module))
        assert optional == (script.exists() and "@optional_part(" in script.read_text())


@pytest.mark.parametrize("name", PROCESSES)
def test_one_name_in_three_places(name):
    module = (ROOT / f"modules/local/{name}/main.nf").read_text()
    assert f"process {name.upper()} {{" in module
    script = "export_sce.R" if name in ("check_r", "export_sce") else f"{name}.py"
    assert f"    {script} " in module
    assert (ROOT / "bin" / script).stat().st_mode & 0o111
    assert "    stub:" in module
    assert "params." not in module
    workflows = [ROOT / "main.nf", *(ROOT / "subworkflows").rglob("main.nf")]
    assert any(f"include {{ {name.upper()}" in path.read_text() for path in workflows)


def test_the_reference_lists_the_parameters():
    rows = [line for line in page("reference/parameters.md").splitlines() if line.startswith("| `--")]
    listed = [name for row in rows for name in re.findall(r"`--(\w+)`", row.split(" | ")[0])]
    assert sorted(set(listed)) == sorted(PARAMETERS)


@pytest.mark.parametrize("name", reading.FORMATS)
def test_every_format_is_documented(name):
    assert f"\n#### {name}\n" in page("reference/input.md")


@pytest.mark.parametrize("column", sorted({name for table in TABLES for name in table.names}))
def test_every_column_is_documented(column):
    first = re.sub("^nearest_[23]_", "nearest_1_", column)  # the page describes the nearest, and counts on
    assert f"`{first}`" in page("output.md")


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_documented(name):
    assert f"`{name}`" in page("reference/presets.md")
    presets.load(ROOT / f"conf/models/{name}.json")


@pytest.mark.parametrize(
    "part", [presets.Preset, presets.Objective, presets.Schedule, transformer.ModelConfig]
)
def test_every_field_of_a_preset_is_documented(part):
    text = page("reference/presets.md")
    assert [field.name for field in fields(part) if f"`{field.name}`" not in text] == []


def test_labels_are_plain_words():
    """A dry run finds them in the text of a module (docs/explanations/decisions.md)."""
    modules = [path.read_text() for path in (ROOT / "modules/local").rglob("*.nf")]
    labels = [line.strip() for text in modules for line in text.splitlines() if re.match(r"\s*label\b", line)]
    assert len(labels) > 30
    assert [line for line in labels if not re.match(r"label '\w+'( //.*)?$", line)] == []


def test_no_path_is_a_pattern():
    """A name of the user's may hold * or [: Nextflow's `file` would look for other files."""
    sources = [
        ROOT / "main.nf",
        *(ROOT / "modules/local").rglob("*.nf"),
        *(ROOT / "subworkflows").rglob("*.nf"),
    ]
    calls = re.compile(r"(?<![\w.])(?:files?|fromPath)\(")
    lines = [line for path in sources for line in path.read_text().splitlines() if calls.search(line)]
    assert len(lines) > 10
    assert [line for line in lines if len(calls.findall(line)) > line.count("glob: false")] == []


def test_files_are_short():
    """A file is one idea (docs/developing.md)."""
    python = [
        path for folder in ("bin", "tests", "benchmarks", "release") for path in (ROOT / folder).rglob("*.py")
    ]
    nextflow = [path for folder in ("modules", "subworkflows") for path in (ROOT / folder).rglob("*.nf")]
    limits = {**dict.fromkeys(python, 600), **dict.fromkeys(nextflow, 200), ROOT / "main.nf": 120}
    lines = {path: path.read_text().splitlines() for path in limits}
    assert [path.relative_to(ROOT) for path in limits if len(lines[path]) > limits[path]] == []
    assert max(map(len, lines[ROOT / "main.nf"])) <= 110


def test_developing_draws_the_packages_as_they_are():
    """Their imports are written by `make generated`; the modules that a row names exist."""
    packages = runpy.run_path(str(ROOT / "docs/packages.py"))
    text = page("developing.md")
    assert packages["with_imports"](text) == text
    table = text.partition(packages["HEADER"])[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| (.+) \|$", table, re.MULTILINE)
    folders = {path.parent.name for path in (ROOT / "bin/airrvec").glob("*/__init__.py")}
    assert {name for name, _ in rows} == folders
    for name, holds in rows:
        folder = ROOT / "bin/airrvec" / name
        for module in re.findall(r"`(\w+)/?`", holds.replace("the command `airrvec`", "")):
            assert (folder / module).is_dir() or (folder / f"{module}.py").is_file(), (name, module)


def bound_names(node: ast.AST) -> list[str]:
    """Return the names that a node gives: of a variable, parameter, attribute, function, class or import."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
            return [name]
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return [name]
        case ast.alias(asname=str(name)):
            return [name]
    return []


def is_empty(name: str) -> bool:
    words = name.lower().strip("_")
    return (
        words in EMPTY_NAMES
        or words.startswith(EMPTY_PREFIXES)
        or not EMPTY_WORDS.isdisjoint(words.split("_"))
    )


def test_names_say_what_they_hold():
    names = [
        f"{path.relative_to(ROOT)}:{node.lineno} {name}"
        for path, tree in CODE.items()
        for node in ast.walk(tree)
        for name in bound_names(node)
        if is_empty(name) and not name.startswith("test_")  # a sentence
    ]
    assert names == []


def test_functions_are_short():
    lengths = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": node.end_lineno
        - node.lineno
        + 1
        - n_documented(node)
        for path, tree in CODE.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    assert {name: n for name, n in lengths.items() if n > LONGEST_FUNCTION} == {}


def n_documented(function: ast.FunctionDef) -> int:
    """Return the number of lines of the docstring of a function."""
    first = function.body[0]
    return first.end_lineno - first.lineno + 1 if ast.get_docstring(function) is not None else 0
