"""The report on samples: its numbers are those of the tables; 210 samples stay readable."""

import json
import re
import shutil

from airrvec.core import tables
from airrvec.report.sections import sample_genes, samples
from airrvec.report.sections.rarefaction import MAX_LINES
from airrvec.report.sections.samples import MAX_ROWS

import clone_tables
import numpy as np
import pyarrow as pa
import pytest
from test_describe_samples import chains, write_sample

import describe_samples

V_GENES = ("TRBV2", "TRBV6-4", "TRBV10-1", "TRBV19")


def described(folder, samples_of: dict[str, list[tuple]]) -> samples.Described:
    """Describe samples made by hand: rows of `write_sample`."""
    for name, rows in samples_of.items():
        write_sample(folder, name, rows)
    return read(folder, samples_of)


def read(folder, names, *options: str) -> samples.Described:
    """Count clones, describe the samples, and read what was written, as the report finds it."""
    made = clone_tables.count(folder, [folder / f"{name}.cells.parquet" for name in names], folder)
    describe_samples.main(["--clones", str(made), "--outdir", str(folder / "out"), *options])
    shutil.copy(made / "clones.qc.json", folder / "out")
    return samples.read_described(folder / "out")


def sections_of(found: samples.Described) -> dict[str, dict]:
    sections = samples.described_sections(found)
    json.dumps(sections, allow_nan=False)
    assert len({part["id"] for part in sections}) == len(sections)
    return {part["id"].removeprefix("airrvec_repertoire_"): part for part in sections}


def receptors(sizes: list[int], end: str = "", label: str | None = None) -> list[tuple]:
    """Paired receptors with different junctions, with these numbers of cells."""
    letters = "ACDEFGHIKLMNPQRSTVWY"
    return [
        (
            chains(
                *("TRA", "TRB"),
                v=V_GENES[number % len(V_GENES)],
                junction=f"CASS{letters[number % 20]}{letters[number // 20]}{end}EQFF",
            ),
            size,
            label,
        )
        for number, size in enumerate(sizes)
    ]


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """An expanded sample, a naive one, and one of three cells."""
    made = {
        "expanded": receptors([40, 10, *[2] * 10, *[1] * 20], label="E<1>, x"),
        "naive": receptors([*[2] * 12, *[1] * 80], "G"),
        "tiny": receptors([1] * 3, "GG"),
    }
    found = described(tmp_path_factory.mktemp("three"), made)
    return found, sections_of(found)


def test_the_terminal_shows_the_largest_clone(three, tmp_path):
    assert samples.described_lines(three[0]) == [
        "Largest clone: 2 cells, 1.9 % of naive (TRAV1-2 CAVMDSSYKLIF TRAJ33 · TRBV2 CASSKAGEQFF TRBJ2-1)"
    ]
    naive = described(tmp_path, {"s": receptors([1, 1])})
    assert samples.described_lines(naive) == ["No clone has two cells"]
    assert samples.largest_clone(three[0], min_cells=100).startswith(
        "Largest clone: 2 cells, 1.9 % of naive ("
    )
    assert samples.largest_clone(three[0], min_cells=1000) is None


def test_clone_sizes_add_up(three):
    data = three[1]["clone_sizes"]["data"]
    assert {sample: sum(shares.values()) for sample, shares in data.items()} == {
        sample: pytest.approx(100) for sample in ("expanded", "naive", "tiny")
    }
    assert data["expanded"]["Hyperexpanded"] == pytest.approx(100 * 50 / 90)
    assert data["naive"]["Medium"] == 0
    assert data["naive"][samples.ONE] == pytest.approx(100 * 80 / 104)
    assert list(data["expanded"]) == list(three[1]["clone_sizes"]["categories"])


def test_a_single_cell_is_never_an_expanded_clone(three, tmp_path):
    sizes = three[0].tables["clone_sizes"]
    for sample, shares in three[1]["clone_sizes"]["data"].items():
        rows = sizes[sizes["sample_id"] == sample].set_index("clone_size")
        n_cells = rows["n_cells"].sum()
        assert shares[samples.ONE] == pytest.approx(100 * rows["n_singletons"].sum() / n_cells)
        repeated = 100 * (rows["n_cells"] - rows["n_singletons"]) / n_cells
        assert {name: shares[name] for name in rows.index} == pytest.approx(repeated.to_dict(), abs=1e-9)
    assert three[1]["clone_sizes"]["data"]["tiny"][samples.ONE] == pytest.approx(100)
    assert three[1]["clone_sizes"]["categories"][samples.ONE]["name"] == "One cell"
    assert "A clone of a single cell is not expanded" in three[1]["clone_sizes"]["description"]
    nineteen = sections_of(described(tmp_path, {"s": receptors([2, *[1] * 17])}))["clone_sizes"]["data"]["s"]
    assert nineteen[samples.ONE] == pytest.approx(100 * 17 / 19)
    assert (nineteen["Large"], nineteen["Hyperexpanded"]) == (0, pytest.approx(100 * 2 / 19))


def test_a_sample_of_three_cells_is_in_no_figure_of_shares(three):
    for name in ("trbv", "trbj", "trav", "traj", "trb_pairs", "tra_pairs"):
        assert three[1][name]["ycats"] == ["expanded", "naive"]
        assert "Left out, with fewer than 20 such cells: tiny." in three[1][name]["description"]
    assert list(three[1]["lengths"]["data"][0]) == ["expanded", "naive"]


def test_genes_are_in_their_order_and_shares_those_of_the_table(three):
    found, sections = three
    heatmap = sections["trbv"]
    assert heatmap["xcats"] == list(V_GENES)  # TRBV10 after TRBV6
    usage = found.tables["gene_usage"].set_index(["sample_id", "gene"])["cell_share"]
    for sample, row in zip(heatmap["ycats"], heatmap["data"], strict=True):
        assert row == pytest.approx([100 * usage[sample, gene] for gene in V_GENES], abs=1e-3)
    pairs = sections["trb_pairs"]
    assert pairs["xcats"] == [f"{gene} TRBJ2-1" for gene in V_GENES]
    assert np.sum(pairs["data"], axis=1) == pytest.approx([100, 100], abs=0.01)


def test_lengths_are_without_the_conserved_ends(three):
    beta = dict(three[1]["lengths"]["data"][0]["expanded"])
    assert beta == {8: pytest.approx(100), 9: 0}  # CASSxxEQFF without C and F
    alpha = dict(three[1]["lengths"]["data"][1]["naive"])
    assert alpha == {10: pytest.approx(100)}


def test_the_table_says_which_samples_cannot_be_compared(three):
    section = three[1]["diversity"]
    assert "Not comparable: tiny (α and β chains) has fewer than 20 cells" in section["description"]
    rows = section["data"]
    assert rows["tiny, α and β chains"]["hill_1"] is None
    diversity = three[0].tables["diversity"].set_index("sample_id")
    assert (
        rows["naive, α and β chains"]["hill_1"]
        == diversity.loc["naive", "hill_1_at_coverage"]
        > rows["expanded, α and β chains"]["hill_1"]
    )
    reference = 100 * diversity["reference_coverage"].iloc[0]
    assert f"α and β chains {reference:.3g} %." in section["description"]


def test_curves_are_those_of_the_table_with_the_prediction_apart(three):
    section = three[1]["rarefaction"]
    assert [label["name"] for label in section["pconfig"]["data_labels"]] == [
        *("Clones", "Effective number", "Large clones"),
        *("Clones by coverage", "Effective number by coverage", "Large clones by coverage"),
    ]
    lines = section["data"][0]
    assert set(lines) == {"expanded", "expanded, predicted", "naive", "naive, predicted", "tiny"}
    assert lines["naive"][0] == [1, pytest.approx(1)]
    assert lines["naive"][-1] == lines["naive, predicted"][0] == [104, pytest.approx(92)]
    assert lines["naive, predicted"][-1][0] == 208
    curves = three[0].tables["rarefaction"].query("sample_id == 'naive' and n_drawn == 208")
    assert section["data"][5]["naive, predicted"][-1] == [
        pytest.approx(100 * curves["coverage"].iloc[0]),
        pytest.approx(curves["hill_2"].iloc[0]),
    ]


def test_every_figure_says_its_limits(three):
    for name, section in three[1].items():
        assert re.search(r"Do not|Not comparable|mean little|doubtful", section["description"]), name
        assert "<code>samples/" in section["description"] or name == "diversity"


def test_no_results_no_sections(tmp_path):
    assert samples.read_described(None) is samples.read_described(tmp_path) is None


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """210 samples; clones of the last ones are the largest."""
    rng = np.random.default_rng(0)
    made = {
        f"sample_{number:03d}": receptors([5 + number, *rng.integers(1, 4, 30)], "G" * (number % 5))
        for number in range(210)
    }
    found = described(tmp_path_factory.mktemp("many"), made)
    return found, sections_of(found)


def test_210_samples_stay_readable(many):
    _, sections = many
    assert len(sections["clone_sizes"]["data"]) == samples.MAX_BARS
    for name in ("trbv", "trb_pairs"):
        assert len(sections[name]["ycats"]) == len(sections[name]["data"]) == sample_genes.MAX_ROWS
        assert sections[name]["ycats"][0] == "Median of all samples"
        assert "Of 210 samples, the 59 that differ most" in sections[name]["description"]
    assert len(sections["lengths"]["data"][0]) == sample_genes.MAX_LINES
    solid = [name for name in sections["rarefaction"]["data"][0] if not name.endswith("predicted")]
    assert len(solid) == MAX_LINES
    assert len(sections["diversity"]["data"]) == MAX_ROWS
    assert len(json.dumps(list(sections.values()))) < 400_000


def test_the_samples_shown_are_the_extremes(many):
    found, sections = many
    diversity = found.tables["diversity"].set_index("sample_id")["hill_1_at_coverage"].sort_values()
    shown = {name for name in sections["rarefaction"]["data"][0] if not name.endswith("predicted")}
    assert shown == {*diversity.index[: MAX_LINES // 2], *diversity.index[-MAX_LINES // 2 :]}
    cells = found.tables["clone_sizes"].groupby("sample_id")[["n_singletons", "n_cells"]].sum()
    singletons = (cells["n_singletons"] / cells["n_cells"]).sort_values()
    shown = singletons[list(sections["clone_sizes"]["data"])].to_numpy()
    half = samples.MAX_BARS // 2
    assert sorted(shown) == [*singletons.iloc[:half], *singletons.iloc[-half:]]
    usage = found.tables["gene_usage"].query("locus == 'TRB' and segment == 'V'")
    wide = usage.pivot_table(index="sample_id", columns="gene", values="cell_share", fill_value=0)
    distance = (wide - wide.median()).abs().sum(axis=1)
    assert (
        distance[sections["trbv"]["ycats"][1:]].min()
        >= distance.drop(sections["trbv"]["ycats"][1:]).max() - 1e-9
    )


def test_samples_of_a_condition_are_neighbours(tmp_path):
    made = {name: receptors([2, *[1] * 30], end) for name, end in (("a", ""), ("b", "G"), ("c", "GG"))}
    for name, value in (("a", "<y>"), ("b", "x"), ("c", "<y>")):
        write_sample(tmp_path, name, made[name])
        path = tmp_path / f"{name}.cells.parquet"
        cells = tables.read(path)
        tables.write(cells.append_column("treatment", pa.array([value] * len(cells))), path)
    sections = sections_of(read(tmp_path, made, "--compare-by", "treatment"))
    assert sections["trbv"]["ycats"] == ["&lt;y&gt;: a", "&lt;y&gt;: c", "x: b"]
    assert set(sections["clone_sizes"]["data"]) == set(sections["trbv"]["ycats"])
    with pytest.raises(SystemExit):
        describe_samples.main(
            ["--clones", str(tmp_path / "clones"), "--compare-by", "dose", "--outdir", str(tmp_path)]
        )


def test_two_species_have_figures_of_their_own(tmp_path):
    found = described(tmp_path, {"human": receptors([3, *[1] * 30]), "mouse": receptors([2, *[1] * 30])})
    for frame in found.tables.values():
        if "species" in frame:
            frame.loc[frame["sample_id"] == "mouse", "species"] = "musmusculus"
    groups = [{"species": species, "chains": "paired"} for species in ("homosapiens", "musmusculus")]
    found.counts["groups"] = groups
    sections = sections_of(found)
    assert {"trbv_homosapiens", "trbv_musmusculus"} <= set(sections)
    assert sections["trbv_musmusculus"]["ycats"] == ["mouse"]
    assert sections["trbv_musmusculus"]["section_name"] == "V genes, β chains, mouse"


def test_every_figure_says_what_each_sample_counts(tmp_path):
    rows = [(chains("TRB", junction=f"CASS{end}EQFF"), 1, None) for end in "ADG"]
    write_sample(tmp_path, "<bulk>", rows, [50, 20, 1], "UMIs")
    found = described(tmp_path, {"a": receptors([30, *[1] * 30])})
    assert "UMIs" not in json.dumps(list(sections_of(found).values()))
    sections = sections_of(read(tmp_path, ("<bulk>", "a")))
    words = "Samples are counted in other units (cells: a; UMIs: &lt;bulk&gt;): compare their shares"
    shared = ("clone_sizes", "trbv", "trbj", "trb_pairs", "lengths", "diversity")
    assert [name for name in shared if words not in sections[name]["description"]] == []
    assert sections["clone_sizes"]["categories"][samples.ONE]["name"] == "Counted once"
    assert sections["clone_sizes"]["data"]["&lt;bulk&gt;"][samples.ONE] == pytest.approx(100 / 71)
    assert samples.largest_clone(samples.read_described(tmp_path / "out")).startswith(
        "Largest clone: 50 UMIs, 70 % of <b"
    )
