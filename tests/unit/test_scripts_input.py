"""The scripts between the input and the encoders: normalise and collect."""

import json
from itertools import permutations

from airrvec.core import schema, tables

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import ALPHA, BETA, DATA, SCEPTR_COLUMNS, normalised, receptor_id, sceptr_row, text


def files(folder) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# --- normalise_receptors.py


def test_normalise_writes_its_tables_and_their_counts(script, tmp_path):
    script(
        "normalise_receptors", DATA / "10x.csv", "--sample", "a.b-c", "--outdir", tmp_path / "out",
        "--metadata", '{"tissue": "blood"}', "--versions", tmp_path / "versions.yml", "--process", "P:Q",
    )  # fmt: skip
    names = ("cells", "chains", "rejects")
    written = {**dict(zip(names, names, strict=True)), "receptors": "receptors_0000"}
    assert files(tmp_path / "out") == sorted(
        ["a.b-c.qc.json", *(f"a.b-c.{name}.parquet" for name in written.values())]
    )
    options = {"metadata": {"tissue": "blood"}, "gamma_delta": True}
    expected = normalised(DATA / "10x.csv", sample_id="a.b-c", **options)
    for table, name in written.items():
        assert tables.read(tmp_path / f"out/a.b-c.{name}.parquet").equals(getattr(expected, table))
    assert json.loads((tmp_path / "out/a.b-c.qc.json").read_text()) == {
        "sample_id": "a.b-c",
        "format": "10x",
        "row_unit": "chain",
        "count_unit": "cells",
        "rows_in": 9,
        "rows_out": 4,
        "rows_rejected": 5,
        "rows_filled": 0,
        "chains_in": 9,
        "chains_out": 4,
        "cells": 3,
        "abundance": 3,
        "receptors": 3,
        "uncertain_calls": 0,
        "orf_chains": 0,
        "mended_junctions": 0,
        "built_junctions": 0,
        "equal_junctions": 0,
        "per_cent_functional": 100.0,
        "roles": "cell = barcode · count = umis (UMIs) · count = reads (reads)"
        " · quality = productive, is_cell, high_confidence",
        "labels_without_molecule": 0,
        "species": {"homosapiens": 3},
        "other_loci": {},
        "pairing": {"extra VDJ": 1, "orphan VDJ": 1, "orphan VJ": 1},
        "reject_reasons": {
            "extra chain of its cell: the one with more UMIs, then reads, is kept": 1,
            "the chain is not productive": 2,
            "the barcode was not called a cell": 1,
            "the contig is of low confidence": 1,
        },
        "gamma_delta": {
            **dict.fromkeys(("rows", "chains", "cells", "abundance", "receptors"), 0),
            "pairing": {},
        },
        "warnings": expected.counts["warnings"],
    }
    versions = (tmp_path / "versions.yml").read_text().splitlines()
    assert versions[0] == '"P:Q":'
    assert f'    pyarrow: "{pa.__version__}"' in versions


def test_normalise_writes_the_same_bytes_again(script, tmp_path):
    for outdir in ("one", "two"):
        script("normalise_receptors", DATA / "vdjdb_full.tsv", "--sample", "s", "--outdir", tmp_path / outdir)
    for name in files(tmp_path / "one"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_each_of_several_tables_gives_the_bytes_that_it_gives_alone(script, tmp_path):
    (tmp_path / "broken.csv").write_text("neither,nor\n1,2\n")
    paths = {"a": DATA / "10x.csv", "lost": tmp_path / "broken.csv", "b": DATA / "vdjdb_full.tsv"}
    metadata = {"a": '{"tissue": "$(blood)"}', "lost": "{}", "b": "{}"}
    options = {
        name: [
            *(str(path), "--sample", name, "--metadata", metadata[name]),
            *("--missing", str(tmp_path / f"together/{name}.missing.json")),
        ]
        for name, path in paths.items()
    }
    (tmp_path / "each.json").write_text(json.dumps(list(options.values())))
    common = ("--partitions", 2, "--outdir")
    versions = ("--versions", tmp_path / "versions.yml")
    script("normalise_receptors", "--each", tmp_path / "each.json", *common, tmp_path / "together", *versions)
    for name in ("a", "b"):
        script("normalise_receptors", *options[name][:-2], *common, tmp_path / "alone")
    found = {name: (tmp_path / "together" / name).read_bytes() for name in files(tmp_path / "together")}
    (reason,) = json.loads(found.pop("lost.missing.json"))
    assert (reason["name"], reason["part"]) == ("lost", "sample")
    assert "broken.csv" in reason["reason"]
    assert found == {name: (tmp_path / "alone" / name).read_bytes() for name in files(tmp_path / "alone")}
    lines = (tmp_path / "versions.yml").read_text().splitlines()
    records = [json.loads(line[2:]) for line in lines if line.startswith("# ")]
    read = {record["sample"]: record["rows"] for record in records if record["kind"] == "input"}
    assert read == {"a": 9, "lost": None, "b": json.loads(found["b.qc.json"])["rows_in"]}


def test_an_unexpected_error_names_the_table(script, tmp_path, monkeypatch):
    import normalise_receptors

    monkeypatch.setattr(normalise_receptors.reading, "open_chains", lambda *_: {}["no such key"])
    with pytest.raises(KeyError) as caught:
        script("normalise_receptors", DATA / "10x.csv", "--sample", "a")
    assert caught.value.__notes__ == ["Of sample a: 10x.csv"]


def test_normalise_takes_the_species_of_the_command(script, tmp_path):
    table = tmp_path / "x.tsv"
    table.write_text("TRAV\tCDR3A\tTRAJ\tTRBV\tCDR3B\tTRBJ\n\t\t\tTRBV13-2*01\tCASGEQFF\tTRBJ2-1*01\n")
    script("normalise_receptors", table, "--sample", "s", "--species", "musmusculus", "--outdir", tmp_path)
    assert tables.read(tmp_path / "s.receptors_0000.parquet")["receptor_id"].to_pylist() == [
        receptor_id("musmusculus", None, None, None, "TRBV13-2*01", "TRBJ2-1*01", "CASGEQFF")
    ]


# --- collect_receptors.py


@pytest.fixture
def samples(tmp_path):
    """Receptors of four samples, which share some; files and the identities, by clonotype."""
    paths, found = [], set()
    for name in ("airr_single_cell.tsv", "vdjdb_full.tsv", "sceptr.tsv", "airr_bulk.tsv"):
        receptors = normalised(DATA / name).receptors
        paths.append(tmp_path / f"{name}.parquet")
        tables.write(receptors, paths[-1])
        pairs = zip(receptors["clonotype_id"].to_pylist(), receptors["receptor_id"].to_pylist(), strict=True)
        found |= set(pairs)
    return paths, [receptor for _, receptor in sorted(found)]


def test_collected_receptors_are_distinct_sorted_and_unchanged(script, samples, tmp_path):
    paths, ids = samples
    script("collect_receptors", *paths, "--outdir", tmp_path / "out")
    collected = tables.read(tmp_path / "out/receptors.parquet")
    assert sum(len(tables.read(path)) for path in paths) == 13
    assert collected["receptor_id"].to_pylist() == ids
    assert len(ids) == 8
    assert collected.schema == schema.COLLECTED_RECEPTORS
    every = {
        receptor["receptor_id"]: receptor for path in paths for receptor in tables.read(path).to_pylist()
    }
    assert collected.select(schema.RECEPTORS.names).to_pylist() == [every[receptor] for receptor in ids]
    rows = collected.to_pylist()
    assert ("TRBV2*01", "TRBV2") in {(row["trb_v_call"], row["trb_v_gene"]) for row in rows}
    for gene, call in schema.ALPHA_BETA.genes.items():
        assert [row[gene] for row in rows] == [row[call] and row[call].split("*")[0] for row in rows]
    pair = receptor_id("homosapiens", *ALPHA, *BETA)
    assert every[pair]["tra_junction_aa"] == collected["tra_junction_aa"][ids.index(pair)].as_py()


JUNCTION = "CASSEGTEAFF"
N_TOKENS = 1 + len("SNHLY") + len("FYNNEI") + len(JUNCTION)  # <cls>, CDR1 and CDR2 of TRBV2*01, the junction


def write_receptors(path, numbers):
    """Receptors with a β chain each, all the same but for their identity."""
    columns = {name: pa.nulls(len(numbers), pa.string()) for name in schema.RECEPTORS.names}
    columns["receptor_id"] = columns["clonotype_id"] = [f"{number:024x}" for number in numbers]
    for name, value in {
        "species": "homosapiens",
        "trb_v_call": "TRBV2*01",
        "trb_junction_aa": JUNCTION,
    }.items():
        columns[name] = [value] * len(numbers)
    tables.write(pa.table(columns, schema=schema.RECEPTORS), path)
    return path


@pytest.mark.parametrize(
    ("samples", "labelled", "n_samples", "n_public"),
    [
        # A receptor that several parts of a sample hold is in one sample.
        ([[1, 1, 2]], None, [1, 1], 0),
        ([[1, 2], [2, 3, 2], [2, 3, 4]], None, [1, 3, 2, 1], 2),
        ([[1, 2], [2, 3]], [1, 2, 9, 9], [1, 2, 1, 0], 1),
        ([], [1, 2, 1], [0, 0], 0),
    ],
    ids=["one sample", "three samples", "and a labelled table", "a labelled table alone"],
)
def test_samples_of_a_receptor_are_counted(samples, labelled, n_samples, n_public, script, tmp_path):
    paths = [write_receptors(tmp_path / f"{number}", sample) for number, sample in enumerate(samples)]
    more = ["--labelled", write_receptors(tmp_path / "labelled", labelled)] if labelled else []
    script("collect_receptors", *paths, *more, "--shard-tokens", 60, "--outdir", tmp_path / "out")
    collected = tables.read(tmp_path / "out/receptors.parquet")
    assert collected["n_samples"].to_pylist() == n_samples
    assert collected["receptor_id"].to_pylist() == sorted(set(collected["receptor_id"].to_pylist()))
    assert json.loads((tmp_path / "out/receptors.qc.json").read_text()) == {
        "samples": len(samples),
        "receptors": len(n_samples),
        "clonotypes": len(n_samples),
        "public_clonotypes": n_public,
    }


def test_alleles_and_genes_of_a_clonotype_share_their_samples(script, tmp_path):
    """One sample names the allele, another the gene, a third another allele: one clonotype, in three."""
    genes = [(ALPHA[0][:-3], ALPHA[1][:-3], ALPHA[2], BETA[0][:-3], BETA[1][:-3], BETA[2])]
    genes.append((ALPHA[0], ALPHA[1], ALPHA[2], BETA[0][:-3], BETA[1], BETA[2]))
    paths = []
    for number, fields in enumerate([(*ALPHA, *BETA), *genes]):
        paths.append(tmp_path / f"{number}.tsv")
        paths[-1].write_text(text(SCEPTR_COLUMNS, [sceptr_row(fields[:3], fields[3:])]))
        tables.write(normalised(paths[-1]).receptors, tmp_path / f"{number}.parquet")
    script("collect_receptors", *(tmp_path / f"{n}.parquet" for n in range(3)), "--outdir", tmp_path / "out")
    collected = tables.read(tmp_path / "out/receptors.parquet").to_pylist()
    expected = receptor_id("homosapiens", *genes[0])
    assert {row["clonotype_id"] for row in collected} == {expected}
    assert [row["receptor_id"] for row in collected] == sorted(
        receptor_id("homosapiens", *fields) for fields in [(*ALPHA, *BETA), *genes]
    )
    assert [row["n_samples"] for row in collected] == [3, 3, 3]
    qc = json.loads((tmp_path / "out/receptors.qc.json").read_text())
    assert qc == {"samples": 3, "receptors": 3, "clonotypes": 1, "public_clonotypes": 1}


@pytest.mark.parametrize(("tokens", "n_shards"), [(1, 8), (60, None), (10_000, 1)])
def test_shards_cover_the_receptors_exactly(tokens, n_shards, script, samples, tmp_path):
    paths, ids = samples
    script(
        "collect_receptors", *paths, "--shard-tokens", tokens, "--part", "_0003", "--outdir", tmp_path / "out"
    )
    names = [name for name in files(tmp_path / "out") if name.startswith("shards/")]
    assert names == [f"shards/shard_0003_{number:04d}.parquet" for number in range(len(names))]
    assert files(tmp_path / "out") == ["receptors_0003.parquet", "receptors_0003.qc.json", *names]
    assert len(names) == n_shards if n_shards else 1 < len(names) < 8
    shards = [tables.read(tmp_path / "out" / name) for name in names]
    assert all(shard.schema == schema.RECEPTORS for shard in shards)
    collected = tables.read(tmp_path / "out/receptors_0003.parquet")
    assert pa.concat_tables(shards).equals(collected.select(schema.RECEPTORS.names))
    assert pa.concat_tables(shards)["receptor_id"].to_pylist() == ids


def test_shards_of_many_receptors_have_the_tokens_that_were_asked_for(script, tmp_path):
    # More than a vector of duckdb's (2,048 rows), in two files that share half of theirs.
    numbers = np.random.default_rng(1).permutation(9_000).tolist()
    write_receptors(tmp_path / "a", numbers[:6_000])
    write_receptors(tmp_path / "b", numbers[3_000:])
    budget = ["--shard-tokens", 2_500 * N_TOKENS]
    script("collect_receptors", tmp_path / "a", tmp_path / "b", *budget, "--outdir", tmp_path / "out")
    shards = [
        tables.read(path)["receptor_id"].to_pylist() for path in sorted((tmp_path / "out/shards").iterdir())
    ]
    assert [len(shard) for shard in shards] == [2_500, 2_500, 2_500, 1_500]
    assert [receptor for shard in shards for receptor in shard] == [
        f"{number:024x}" for number in range(9_000)
    ]
    assert json.loads((tmp_path / "out/receptors.qc.json").read_text())["public_clonotypes"] == 3_000


def test_order_of_the_files_does_not_change_a_byte(script, samples, tmp_path):
    paths, _ids = samples
    contents = set()
    for number, order in enumerate(list(permutations(paths))[::5]):
        outdir = tmp_path / str(number)
        script("collect_receptors", *order, "--shard-tokens", 100, "--outdir", outdir)
        contents.add(tuple((outdir / name).read_bytes() for name in files(outdir)))
    assert len(contents) == 1


def test_collected_receptors_can_be_queried_by_others(script, samples, tmp_path):
    paths, ids = samples
    script("collect_receptors", *paths, "--outdir", tmp_path)
    query = f"select receptor_id from '{tmp_path}/receptors.parquet' where chain_pairing = 'single pair'"  # noqa: S608 - own path
    assert len(duckdb.sql(query).fetchall()) == 1
    assert sorted(pd.read_parquet(tmp_path / "receptors.parquet")["receptor_id"]) == sorted(ids)
