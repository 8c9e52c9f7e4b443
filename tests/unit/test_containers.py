"""Files that are no text: Parquet, JSON, AnnData and MuData; and tables whose columns the user names."""

import bz2
import csv
import gzip
import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from inputs import (
    ALPHA,
    ALPHA_2,
    BETA,
    BETA_2,
    DATA,
    NO_CHAIN,
    ROOT,
    SHARED,
    assert_conserved,
    cells_with_chains,
    chains_of,
    needs_shared,
    normalised,
    normalised_text,
    rejected,
    text,
)

from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.files import json_table, json_text, parquet_table, text_table
from airrvec.input.normalise import normalise

PAIR = (*ALPHA, *BETA)
BMMNC = "formats/10x_bmmnc_all_contig_annotations_small"
TEXTS = sorted(path.name for path in DATA.glob("*.[ct]sv"))


def chains_in(path, format=None, columns=None) -> pa.Table:
    return pa.concat_tables(batch.chains for batch in reading.open_chains(path, format, columns).batches)


def same(one, other) -> None:
    """The same outcome, but for the warnings, which may speak of the header."""
    for name in ("cells", "receptors", "rejects"):
        assert getattr(one, name).equals(getattr(other, name))
    assert {**one.counts, "warnings": None} == {**other.counts, "warnings": None}


def genes_only(chain: tuple) -> tuple:
    return (chain[0].split("*")[0], chain[1].split("*")[0], chain[2])


# --- Parquet


def as_parquet(name: str, path, **options) -> None:
    """A text table as Parquet, its types as pyarrow guesses them."""
    lines = [line for line in (DATA / name).read_text().splitlines() if not line.startswith("##")]
    rows = list(csv.reader(lines, delimiter="," if name.endswith(".csv") else "\t"))
    n_header = 2 if name == "iedb.csv" else 1
    header = [" ".join(cells) for cells in zip(*rows[:n_header], strict=True)]
    guessed = pyarrow.csv.read_csv(
        pa.py_buffer(text(header, rows[n_header:]).encode()),
        parse_options=pyarrow.csv.ParseOptions(delimiter="\t"),
        convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True),
    )
    pq.write_table(guessed, path, **options)


@pytest.mark.parametrize("name", TEXTS)
def test_any_table_may_be_parquet(name, tmp_path):
    as_parquet(name, tmp_path / "table")
    same(normalised(tmp_path / "table"), normalised(DATA / name))


def test_parquet_of_the_six_columns_with_numbers_and_categories():
    schema = pq.read_schema(DATA / "sceptr.parquet")
    assert schema.field("duplicate_count").type == pa.float64()
    assert pa.types.is_dictionary(schema.field("MHCA").type)
    same(normalised(DATA / "sceptr.parquet"), normalised(DATA / "sceptr.tsv"))


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_parquet_may_be_packed(pack, tmp_path):
    content = pack((DATA / "sceptr.parquet").read_bytes())
    same(normalised_text(tmp_path / "x", content), normalised(DATA / "sceptr.tsv"))


def test_rows_of_parquet_are_numbered_across_batches(tmp_path, monkeypatch):
    as_parquet("10x.csv", tmp_path / "x", row_group_size=4)
    monkeypatch.setattr(parquet_table, "BATCH_ROWS", 3)
    batches = list(reading.open_chains(tmp_path / "x").batches)
    assert len(batches) > 2
    assert [row for batch in batches for row in batch.chains["row"].to_pylist()] == list(range(1, 10))
    same(normalised(tmp_path / "x"), normalised(DATA / "10x.csv"))


def test_damaged_parquet_is_refused(tmp_path):
    whole = (DATA / "sceptr.parquet").read_bytes()
    with pytest.raises(InputError, match=r"^x: the Parquet file is damaged.* Copy or download it again"):
        normalised_text(tmp_path / "x", whole[:-100])


def test_parquet_without_rows_or_with_lists_is_refused(tmp_path):
    columns = ("TRAV", "CDR3A", "TRAJ", "TRBV", "CDR3B", "TRBJ")
    pq.write_table(pa.table({name: pa.array([], pa.string()) for name in columns}), tmp_path / "x")
    with pytest.raises(InputError, match=r"^x: the file has columns and no rows\.$"):
        normalised(tmp_path / "x")
    pq.write_table(pa.table({name: [["CASSF"]] for name in columns}), tmp_path / "x")
    with pytest.raises(InputError, match=r"^x, column 'TRAV': holds lists, not words or numbers\.$"):
        normalised(tmp_path / "x")


def test_parquet_column_that_occurs_twice_is_read_once(tmp_path):
    columns = ["TRAV", "CDR3A", "TRAJ", "TRBV", "CDR3B", "TRBJ", "CDR3B"]
    row = [ALPHA[0], ALPHA[2], ALPHA[1], BETA[0], BETA[2], BETA[1], "CASSF"]
    pq.write_table(pa.table([pa.array([value]) for value in row], names=columns), tmp_path / "x")
    assert chains_of(normalised(tmp_path / "x")) == [PAIR]


# --- JSON


def test_10x_contigs_of_json_are_those_of_csv():
    same(normalised(DATA / "10x_contigs.json"), normalised(DATA / "10x.csv"))


@needs_shared
def test_real_10x_contigs_of_json_are_those_of_csv():
    from_json, from_csv = (chains_in(SHARED / f"{BMMNC}.{kind}") for kind in ("json", "csv"))
    assert from_json.equals(from_csv)
    assert len(from_json) == 5
    assert normalised(SHARED / f"{BMMNC}.json").counts["pairing"] == {"single pair": 1, "orphan VJ": 1}


@needs_shared
def test_real_10x_contigs_of_an_old_version():
    path = SHARED / "formats/10x_all_contig_annotations.json"
    contigs = json.loads(path.read_text())
    chains = chains_in(path)
    assert chains["cell_id"].to_pylist() == [contig["barcode"] for contig in contigs]
    assert chains["duplicate_count"].to_pylist() == [contig["read_count"] for contig in contigs]
    assert chains["junction_aa"].to_pylist() == [contig["cdr3"] for contig in contigs]
    assert chains["v_call"].to_pylist()[:3] == ["TRBV18", "TRBV18", "TRAV14DV4"]
    assert chains["locus"].to_pylist() == ["TRB"] * 2 + ["TRA"] * 3 + ["IGK", "IGH", "IGH", "IGK"]
    assert_conserved(normalised(path), 9)


def test_airr_data_file_is_read_as_the_table():
    """Chains of cellB name no cell: the cell lists them. The clone beside them is not read."""
    one, other = normalised(DATA / "airr.json"), normalised(DATA / "airr_single_cell.tsv")
    same(one, other)
    assert one.counts["format"] == "airr"


def test_airr_data_file_with_clones_alone():
    result = normalised(DATA / "airr_clones.json")
    assert chains_of(result) == [(*NO_CHAIN, *BETA), (*ALPHA, *NO_CHAIN)]
    assert result.cells.select(["cell_id", "duplicate_count"]).to_pylist() == [
        {"cell_id": "c1", "duplicate_count": 5},
        {"cell_id": "c2", "duplicate_count": 1},
    ]
    assert rejected(result) == [(3, "junction_aa", None, "junction_aa is missing")]


@pytest.mark.parametrize("chunk", [1, 7, 100, 5_000])
def test_json_is_read_piece_by_piece(chunk, monkeypatch, tmp_path):
    monkeypatch.setattr(json_text, "CHUNK", chunk)
    monkeypatch.setattr(json_table, "_RECORDS", 2)
    same(normalised(DATA / "10x_contigs.json"), normalised(DATA / "10x.csv"))
    records = [{"a": number, "b": None if number % 3 else 1.5e3, "c": [1, {"d": 2}]} for number in range(50)]
    (tmp_path / "x").write_text(json.dumps(records))
    table = json_table.read_json(tmp_path / "x").table.to_pydict()
    assert table["a"] == [str(number) for number in range(50)]
    assert table["b"] == [None if number % 3 else "1500.0" for number in range(50)]
    assert table["c"] == [None] * 50
    assert table["row"] == list(range(1, 51))


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\n\t  "])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_json_may_be_packed_and_have_a_mark(before, pack, tmp_path):
    content = pack(before + (DATA / "airr.json").read_bytes())
    same(normalised_text(tmp_path / "x.json", content), normalised(DATA / "airr.json"))


NO_JSON = r"the file is not valid JSON \(.*\)\. It may be truncated: copy or download it again\.$"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"barcode": "x"', NO_JSON),
        ('[{"barcode": "x"}', NO_JSON),
        ('[{"barcode": "x"}] and more', NO_JSON),
        ('[{"barcode": "x"},]', NO_JSON),
        ("{barcode: 1}", NO_JSON),
        ('{"Rearrangement": [', NO_JSON),
        (
            "[" * 100_000,
            r"^x: its lists or objects are nested too deeply\. Give a",
        ),
        (
            '[{"v_call": "TRBV19"}, {"v_call": "\\ud800"}]',
            r"^x, row 2, column 'v_call': contains half of a surrogate pair \(such as \\ud800\), which is",
        ),
        ('[{"\\udfff": "TRBV19"}]', r"^x, row 1, column '\?': contains half of a surrogate pair"),
        (b'[{"v_call": "\xe9"}]', "^x: holds bytes that are not UTF-8 text. Convert the file"),
        ("[]", "the file holds no records"),
        ("[1, 2]", "^x, row 1: the record is not a JSON object"),
        ('{"Info": {}, "Clone": []}', "the JSON object has no records in 'Rearrangement' or 'Clone'"),
        ('[{"a": 1, "b": 2}]', r"its columns \(a, b\) match no known format"),
        ('[{"annotations": 1}]', "junction_aa is missing|locus, v_call and j_call"),
        (gzip.compress((DATA / "airr.json").read_bytes())[:-20], "the compressed file is truncated"),
    ],
)
def test_bad_json_is_refused(content, message, tmp_path):
    with pytest.raises(InputError, match=message):
        normalised_text(tmp_path / "x", content)


# --- AnnData and MuData


def as_old_scirpy(path, name_twice: bool = False) -> None:
    """Two cells and one without chains, laid out as scirpy did before version 0.13."""
    import anndata

    chains = {
        "VJ_1": [ALPHA, None, None],
        "VJ_2": [None] * 3,
        "VDJ_1": [BETA, BETA_2, None],
        "VDJ_2": [None] * 3,
    }
    obs = {}
    for arm, cells in chains.items():
        locus = "TRA" if arm.startswith("VJ") else "TRB"
        for number, field in enumerate(("v_call", "j_call", "junction_aa")):
            obs[f"IR_{arm}_{field}"] = ["nan" if chain is None else chain[number] for chain in cells]
        obs[f"IR_{arm}_locus"] = ["nan" if chain is None else locus for chain in cells]
        obs[f"IR_{arm}_duplicate_count"] = [np.nan if chain is None else 3.0 for chain in cells]
    names = ["a", "a" if name_twice else "b", "c"]
    anndata.AnnData(obs=pd.DataFrame(obs, index=names)).write_h5ad(path)


def test_cells_of_scirpy():
    result, of_csv = normalised(DATA / "scirpy.h5ad"), normalised(DATA / "10x.csv")
    assert result.counts["format"] == "scirpy"
    by_cell, by_cell_csv = (
        {cell["cell_id"]: {**cell, "input_rows": 1, "epitope": None} for cell in cells_with_chains(one)}
        for one in (result, of_csv)
    )
    assert by_cell == by_cell_csv
    assert set(result.cells["epitope"].to_pylist()) == {"GILGFVFTL"}
    assert (6, None, None, "the row holds no chain") in rejected(result)
    assert_conserved(result, 6)


@needs_shared
@pytest.mark.parametrize("kind", ["h5ad", "h5mu"])
@pytest.mark.parametrize("pack", [False, True])
def test_what_scirpy_reads_and_writes_is_what_we_read(kind, pack, tmp_path):
    mudata, scirpy = pytest.importorskip("mudata"), pytest.importorskip("scirpy")
    cells = scirpy.io.read_10x_vdj(SHARED / f"{BMMNC}.csv", filtered=False)
    path = tmp_path / "x"
    cells.write_h5ad(path) if kind == "h5ad" else mudata.MuData({"gex": cells[:1, :], "airr": cells}).write(
        path
    )
    if pack:
        with path.open("rb") as plain, gzip.open(tmp_path / "packed", "wb") as packed:
            shutil.copyfileobj(plain, packed)
        path = tmp_path / "packed"
    of_cells = ["row", "cell_key", "from_cdr3"]
    from_scirpy, from_csv = chains_in(path), chains_in(SHARED / f"{BMMNC}.csv")
    assert from_scirpy["row"].to_pylist() == [1, 2, 3, 3, 4]
    assert from_scirpy.drop_columns(of_cells).equals(from_csv.drop_columns(of_cells))
    assert cells_with_chains(normalised(path)) == [
        {**cell, "input_rows": 1} for cell in cells_with_chains(normalised(SHARED / f"{BMMNC}.csv"))
    ]


@needs_shared
def test_airr_table_by_way_of_scirpy(tmp_path):
    scirpy = pytest.importorskip("scirpy")
    table = DATA / "airr_single_cell.tsv"
    cells = scirpy.io.read_airr(table)
    cells.write_h5ad(tmp_path / "x")
    found = {chain[:6] for chain in chains_of(normalised(tmp_path / "x"))}
    assert found == set(chains_of(normalised(table)))


@pytest.mark.parametrize("name_twice", [False, True])
def test_scirpy_before_0_13(name_twice, tmp_path):
    as_old_scirpy(tmp_path / "x", name_twice)
    result = normalised(tmp_path / "x")
    assert chains_of(result) == [PAIR, (*NO_CHAIN, *BETA_2)]
    assert result.cells["cell_id"].to_pylist() == ["a", "a" if name_twice else "b"]
    assert result.cells["duplicate_count"].to_pylist() == [6, 3]
    assert rejected(result) == [(3, None, None, "the row holds no chain")]
    assert_conserved(result, 3)


def test_anndata_without_chains_or_damaged_is_refused(tmp_path):
    import anndata

    anndata.AnnData(obs=pd.DataFrame({"tissue": ["blood"]}, index=["a"])).write_h5ad(tmp_path / "x")
    with pytest.raises(InputError, match=r"^x: its columns \(obs_names, obs/tissue\) match no known format"):
        normalised(tmp_path / "x")
    whole = (DATA / "scirpy.h5ad").read_bytes()
    with pytest.raises(InputError, match=r"^x: the AnnData file is damaged"):
        normalised_text(tmp_path / "x", whole[:5_000])


def test_column_map_of_anndata(tmp_path):
    columns = {"junction_aa": "obsm/airr/junction_aa", "cell_id": "obs_names", "locus": "obsm/airr/locus"}
    assert chains_in(DATA / "scirpy.h5ad", columns=columns)["junction_aa"].null_count == 1


# --- Column maps


PAIR_MAP = {
    "tra_v_call": "TRAV",
    "tra_j_call": "TRAJ",
    "tra_junction_aa": "CDR3A",
    "trb_v_call": "TRBV",
    "trb_j_call": "TRBJ",
    "trb_junction_aa": "CDR3B",
    "cell_id": "cell_id",
    "duplicate_count": "duplicate_count",
    "epitope": "Epitope",
    "mhc_a": "MHCA",
    "mhc_b": "MHCB",
    "reference_id": "reference_id",
}
CHAIN_MAP = {
    "v_call": "v_gene",
    "j_call": "j_gene",
    "junction_aa": "cdr3",
    "locus": "chain",
    "cell_id": "barcode",
    "productive": "productive",
    "is_cell": "is_cell",
    "duplicate_count": "reads",
    "umi_count": "umis",
}


@pytest.mark.parametrize("name", ["sceptr.tsv", "sceptr.parquet"])
def test_column_map_of_pairs_gives_what_the_format_gives(name):
    mapped = normalise(
        reading.open_chains(DATA / name, columns=PAIR_MAP), sample_id="s", species="homosapiens"
    )
    assert mapped.counts["format"] == "columns"
    mapped.counts["format"] = "sceptr"
    same(mapped, normalised(DATA / "sceptr.tsv"))


@pytest.mark.parametrize("name", ["10x.csv", "10x_contigs.json"])
def test_column_map_of_chains_gives_what_the_format_gives(name):
    mapped, of_format = chains_in(DATA / name, columns=CHAIN_MAP), chains_in(DATA / name)
    assert mapped["cell_key"].equals(mapped["cell_id"])
    left_out = ["cell_key", "chain_key", "high_confidence"]
    assert mapped.drop_columns(left_out).equals(of_format.drop_columns(left_out))


def test_column_map_of_flat_json_records(tmp_path):
    records = [{"beta": BETA[2], "n": 3}, {"n": 2, "beta": BETA_2[2], "who": "x"}]
    (tmp_path / "x").write_text(json.dumps(records))
    columns = {"trb_junction_aa": "beta", "duplicate_count": "n", "cell_id": "who"}
    chains = chains_in(tmp_path / "x", columns=columns)
    assert chains.select(["row", "locus", "junction_aa", "duplicate_count", "cell_id"]).to_pylist() == [
        {"row": 1, "locus": "TRB", "junction_aa": BETA[2], "duplicate_count": 3, "cell_id": None},
        {"row": 2, "locus": "TRB", "junction_aa": BETA_2[2], "duplicate_count": 2, "cell_id": "x"},
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"^map.json: the column map is not valid JSON"),
        ("[1]", r"^map.json: the column map is not a JSON object\."),
        ('{"junction_aa": 3}', r"^map.json: the column map is not a JSON object of strings\."),
        (
            '{"junction_aa": "cdr3", "v_cal": "v"}',
            r"^map.json: the column map names 'v_cal', which is not a field of airrvec\. Similar fields: v_",
        ),
        (
            '{"junction_aa": "cdr3", "trb_v_call": "v"}',
            r"^map.json: the column map mixes 'junction_aa', for one chain per row, with 'trb_v_call', for b",
        ),
        ('{"v_call": "v"}', r"^map.json: the column map gives no junction\. Give the column of junction_aa"),
        ('{"junction_aa": "row"}', r"^map.json: the column map gives 'junction_aa' the column 'row'"),
    ],
)
def test_bad_column_map_is_refused(content, message, tmp_path):
    (tmp_path / "map.json").write_text(content)
    with pytest.raises(InputError, match=message):
        reading.read_column_map(tmp_path / "map.json")


def test_column_map_that_names_a_missing_column_is_refused():
    message = (
        "10x.csv, column 'CDR3': missing, though the column map gives it as junction_aa."
        " Correct the column map; the file has: barcode, is_cell, contig_id,"
    )
    with pytest.raises(InputError) as error:
        reading.open_chains(DATA / "10x.csv", columns={"v_call": "v_gene", "junction_aa": "CDR3"})
    assert str(error.value).startswith(message)


def test_script_takes_a_column_map_and_no_format_beside_it(tmp_path):
    (tmp_path / "map.json").write_text(json.dumps(PAIR_MAP))
    command = [sys.executable, ROOT / "bin/normalise_receptors.py", DATA / "sceptr.tsv", "--sample", "s"]
    options = ["--columns", tmp_path / "map.json", "--outdir", tmp_path]
    subprocess.run([*command, *options], check=True)
    assert json.loads((tmp_path / "s.qc.json").read_text())["format"] == "columns"
    both = subprocess.run([*command, *options, "--format", "sceptr"], capture_output=True, text=True)
    assert both.returncode == 2
    assert "not allowed with argument" in both.stderr


# --- 10x clonotypes, and IEDB's other headers


def test_10x_clonotypes_hold_junctions_of_several_chains():
    result = normalised(DATA / "10x_clonotypes.csv")
    assert chains_of(result) == [
        (None, None, ALPHA[2], None, None, BETA[2]),
        (*NO_CHAIN, None, None, BETA[2]),
        (None, None, ALPHA_2[2], *NO_CHAIN),
    ]
    columns = ["cell_id", "duplicate_count", "chain_pairing"]
    assert [tuple(cell.values()) for cell in result.cells.select(columns).to_pylist()] == [
        ("clonotype1", 12, "single pair"),
        ("clonotype2", 4, "orphan VDJ"),
        ("clonotype3", 2, "orphan VJ"),
    ]
    assert [reject[:3] for reject in rejected(result)] == [
        (2, "junction_aa", BETA_2[2]),
        (4, "locus", "IGH"),
        (4, "locus", "IGK"),
        (5, None, None),
    ]
    assert_conserved(result, 5)


@pytest.mark.parametrize("name", ["iedb_search.csv", "iedb_old.csv"])
def test_iedb_tables_with_one_header_row(name):
    one, two = chains_in(DATA / name), chains_in(DATA / "iedb.csv")
    known = ["HomoSapiens", "MusMusculus"]
    assert sum(species in known for species in one["species"].to_pylist()) == 5
    assert one.drop_columns("species").equals(two.drop_columns("species"))


# --- Rows that a column map chooses, and columns without a name


IMMREP_MAP = {"junction_aa": "CDR3b_extended", "v_call": "Vb", "epitope": "Peptide"}


@pytest.mark.parametrize("value", [1, "1", 1.0, [1, "yes"]])
def test_a_column_map_chooses_rows_by_a_value(value, tmp_path):
    (tmp_path / "map.json").write_text(json.dumps({**IMMREP_MAP, "only": {"Label": value}}))
    columns = reading.read_column_map(tmp_path / "map.json")
    source = reading.open_chains(DATA / "immrep.csv", columns=columns)
    result = normalise(source, sample_id="s", species="homosapiens")
    assert chains_of(result) == [(*NO_CHAIN, BETA[0], None, BETA[2])]
    assert result.cells["epitope"].to_pylist() == ["GILGFVFTL"]
    assert rejected(result) == [(row, None, None, "excluded by the column map") for row in (2, 3)]
    assert_conserved(result, 3)


def test_a_column_map_chooses_rows_by_several_columns_and_by_nothing(monkeypatch):
    monkeypatch.setattr(text_table, "BLOCK_SIZE", 100)  # a block may lose all of its rows
    columns = {**IMMREP_MAP, "only": {"Label": ["", 0], "Vb": BETA[0]}}
    result = normalise(
        reading.open_chains(DATA / "immrep.csv", columns=columns), sample_id="s", species="homosapiens"
    )
    assert result.cells["epitope"].to_pylist() == ["NLVPMVATV"]
    assert [row for row, *_ in rejected(result)] == [1, 2]


def test_a_column_map_names_the_column_without_a_name():
    columns = {"cell_id": "", "trb_v_call": "IR_VDJ_1_v_call", "trb_junction_aa": "IR_VDJ_1_junction_aa"}
    assert chains_in(DATA / "scirpy_obs.csv", columns=columns)["cell_id"].to_pylist() == ["AAAC-1", "AAAG-1"]


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("Label", r"^'only' of the column map is not a JSON object of columns and values\. It gives the row"),
        ({}, "^'only' of the column map is not a JSON object"),
        ({"Label": None}, "^'only' of the column map is not a JSON object"),
        ({"Label": [[1]]}, "^'only' of the column map is not a JSON object"),
        ({"row": 1}, "^the column map selects rows by the column 'row', a name that airrvec uses"),
        ({"Lable": 1}, r"^immrep.csv, column 'Lable': missing, though the column map gives it as only\."),
    ],
)
def test_a_choice_of_rows_that_is_none_is_refused(only, message):
    with pytest.raises(InputError, match=message):
        reading.open_chains(DATA / "immrep.csv", columns={**IMMREP_MAP, "only": only})
