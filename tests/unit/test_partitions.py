"""However many ranges of clonotype_id share the work, the tables are the same."""

import importlib
import json

from airrvec.core import schema, tables
from airrvec.core.identity import split_by_clonotype
from airrvec.model.tokens import shards, token_counts, tokenise
from airrvec.report import page

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import ALPHA, BETA, ROOT, receptor_id
from safetensors.numpy import load_file

SAMPLES = {"a": "assets/test/pbmc_a.csv.gz", "b": "assets/test/pbmc_b.csv"}


def run(name: str, *arguments) -> None:
    importlib.import_module(name).main([str(argument) for argument in arguments])


def run_all(folder, partitions: int, tokens: int) -> None:
    """All steps from the input to the vectors; tables in ``receptors`` and ``vectors``."""
    for sample, path in SAMPLES.items():
        run(
            "normalise_receptors",
            ROOT / path,
            "--sample",
            sample,
            "--partitions",
            partitions,
            "--outdir",
            folder,
        )
    for number in range(partitions):
        part, out = f"_{number:04d}", folder / f"{number}"
        pieces = [folder / f"{sample}.receptors{part}.parquet" for sample in SAMPLES]
        run("collect_receptors", *pieces, "--part", part, "--shard-tokens", tokens, "--outdir", out)
        embedded = []
        for shard in sorted((out / "shards").iterdir()):
            embedded.append(out / "embedded" / shard.name)
            run("embed_receptors", shard, "--model", "sceptr_tiny", "--out", embedded[-1])
        receptors = folder / "receptors" / f"receptors{part}.parquet"
        receptors.parent.mkdir(exist_ok=True)
        (out / f"receptors{part}.parquet").rename(receptors)
        merged = ["--out", folder / "vectors" / f"x{part}.parquet", "--qc", out / "vectors.qc.json"]
        run("merge_embeddings", *embedded, "--receptors", receptors, *merged)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Folders of three divisions; that by 60 has more partitions than there are receptors in most."""
    folders = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "bin")
        for partitions, tokens in ((1, 10_000_000), (3, 600), (60, 10_000_000)):
            folders[partitions] = tmp_path_factory.mktemp(f"of_{partitions}")
            run_all(folders[partitions], partitions, tokens)
    return folders


@pytest.mark.parametrize("partitions", [3, 60])
def test_partitions_one_after_another_are_the_tables_of_one(partitions, results):
    for name in ("receptors", "vectors"):
        assert len(tables.files(results[partitions] / name)) == partitions
        whole = tables.read(results[1] / name)
        found = tables.read(results[partitions] / name)
        if name == "receptors":
            assert found.equals(whole)
        assert found["receptor_id"].equals(whole["receptor_id"])
    # A receptor's batch is another one in another shard: sums are added up in another order.
    vectors = [tables.read(results[n] / "vectors").drop("receptor_id").to_pandas() for n in (1, partitions)]
    np.testing.assert_allclose(*vectors, atol=1e-6)
    assert vectors[0].notna().all(axis=None)


def test_some_partitions_are_empty(results):
    lengths = [len(tables.read(path)) for path in tables.files(results[60] / "vectors")]
    assert 0 in lengths
    assert sum(lengths) == len(tables.read(results[1] / "receptors"))


@pytest.mark.parametrize("partitions", [3, 60])
def test_counts_of_partitions_add_up(partitions, results):
    def counted(n, pattern, counts):
        found = [json.loads(path.read_text()) for path in sorted(results[n].glob(f"*/{pattern}.qc.json"))]
        assert len(found) == n
        return page.merge_partitions(found, counts)

    for pattern, counts in (
        ("receptors_*", ("receptors", "clonotypes", "public_clonotypes")),
        ("vectors", ("receptors", "without_vector")),
    ):
        assert counted(partitions, pattern, counts) == counted(1, pattern, counts)
    assert counted(1, "receptors_*", ())["public_clonotypes"] > 10


def test_folders_of_partitions_open_in_one_line(results):
    pandas = pytest.importorskip("pandas")
    for name in ("receptors", "vectors"):
        one, many = (pandas.read_parquet(results[n] / name) for n in (1, 60))
        assert list(many["receptor_id"]) == list(one["receptor_id"])
        assert list(many.columns) == list(one.columns)


def test_partitions_change_no_weight(results, tmp_path):
    pytest.importorskip("lightning")
    weights = []
    for n in (1, 3):
        folder = tmp_path / f"{n}"
        options = ["--preset", ROOT / "conf/models/tiny.json", "--train-steps", 2, "--train-batch-size", 16]
        options += ["--device", "cpu", "--checkpoints", folder / "checkpoints", "--outdir", folder]
        run("pretrain", *tables.files(results[n] / "receptors"), *options)
        weights.append(load_file(folder / "tiny/model.safetensors"))
    assert weights[0].keys() == weights[1].keys()
    for name, values in weights[0].items():
        np.testing.assert_array_equal(values, weights[1][name])


@settings(max_examples=200, deadline=None, derandomize=True)
@given(ids=st.lists(st.integers(0, 2**96 - 1), max_size=30, unique=True), n=st.integers(1, 512))
def test_partitions_are_ranges_of_the_identity(ids, n):
    digits = [f"{number:024x}" for number in ids]
    receptors = pa.table({"clonotype_id": pa.array(digits, pa.string())})
    parts = [part["clonotype_id"].to_pylist() for part in split_by_clonotype(receptors, n)]
    assert len(parts) == n
    assert [receptor for part in parts for receptor in sorted(part)] == sorted(digits)
    for part in parts:
        assert part == [receptor for receptor in digits if receptor in part]
    for number, part in enumerate(parts):
        assert all(number / n <= int(receptor[:4], 16) / 2**16 < (number + 1) / n for receptor in part)


# --- Shards by tokens.

PAIR = dict(
    zip(schema.RECEPTOR_FIELDS, (ALPHA[0], ALPHA[1], ALPHA[2], BETA[0], BETA[1], BETA[2]), strict=True)
)


def receptors_of(has_alpha: list[bool]) -> pa.Table:
    """Pairs, and β chains alone."""
    rows = []
    for alpha in has_alpha:
        fields = {k: v if alpha or k.startswith("trb") else None for k, v in PAIR.items()}
        identity = receptor_id("homosapiens", *(fields[name] for name in schema.RECEPTOR_FIELDS))
        rows.append(
            {
                "receptor_id": identity,
                "clonotype_id": identity,
                "species": "homosapiens",
                **fields,
                "chain_pairing": "single pair",
            }
        )
    return pa.Table.from_pylist(rows, schema=schema.RECEPTORS)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    batches=st.lists(st.lists(st.booleans(), max_size=9), max_size=5),
    budget=st.integers(1, 200),
)
def test_shards_hold_the_tokens_asked_for_and_keep_the_order(batches, budget):
    parts = [receptors_of(batch).combine_chunks().to_batches() for batch in batches]
    reader = pa.RecordBatchReader.from_batches(schema.RECEPTORS, [batch for part in parts for batch in part])
    whole = receptors_of([alpha for batch in batches for alpha in batch])
    found = list(shards(reader, budget))
    assert pa.concat_tables(found).equals(whole)
    counts = [int(token_counts(shard).sum()) for shard in found]
    most = int(token_counts(whole).max()) if len(whole) else 0
    assert all(len(shard) for shard in found) or len(whole) == 0
    assert all(count < budget + most for count in counts)
    assert all(count > budget - most for count in counts[:-1])


def test_counted_tokens_are_those_of_the_tokeniser():
    receptors = receptors_of([True, False, True])
    np.testing.assert_array_equal(token_counts(receptors), tokenise(receptors).lengths)
    assert token_counts(schema.RECEPTORS.empty_table()).shape == (0,)
