"""Generation probabilities against OLGA's own command line."""

import os
import subprocess
import sys
from pathlib import Path

from airrvec.core import schema
from airrvec.synthetic import generation, synthesis

import numpy as np
import pyarrow as pa
import pytest
from inputs import ALPHA, ALPHA_2, BETA, BETA_2

OLGA = Path(sys.executable).with_name("olga-compute_pgen")


def by_command_line(tmp_path, chains, model, *options) -> list[float]:
    """Probabilities that OLGA's command prints for junctions with their V and J genes."""
    # At its start the command lists what is installed, by pip, which this environment may lack.
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip/__main__.py").write_text("print('olga==1')\n")
    table, result = tmp_path / "chains.tsv", tmp_path / "result.tsv"
    table.write_text("".join(f"{junction}\t{v}\t{j}\n" for junction, v, j in chains))
    subprocess.run(
        [
            sys.executable,
            OLGA,
            model,
            "-i",
            table,
            "-o",
            result,
            "--v_in",
            "1",
            "--j_in",
            "2",
            "--display_off",
            *options,
        ],
        check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
    )
    return [float(line.split("\t")[1]) for line in result.read_text().splitlines()]


@pytest.mark.parametrize(
    ("locus", "model", "more", "options"),
    [
        ("TRA", "--humanTRA", [ALPHA, ALPHA_2], ["--skip_fast_pgen"]),
        ("TRB", "--humanTRB", [BETA, BETA_2], []),
    ],
)
def test_probabilities_are_those_of_olgas_command_line(tmp_path, locus, model, more, options):
    made = synthesis.synthesise(15, seed=3)
    columns = (made[schema.field(locus, name)].to_pylist() for name in ("junction_aa", "v_call", "j_call"))
    chains = [*zip(*columns, strict=True), *((junction, v, j) for v, j, junction in more)]
    chains = [(junction, v.split("*")[0], j.split("*")[0]) for junction, v, j in chains]
    expected = by_command_line(tmp_path, chains, model, *options)
    assert min(expected[:15]) > 0  # OLGA made them
    np.testing.assert_allclose(generation.probabilities(chains, locus, "homosapiens"), expected, rtol=1e-12)


def test_alleles_do_not_matter_and_unknown_genes_have_no_probability():
    v_call, j_call, junction = BETA
    given = [(junction, v_call, j_call), (junction, "TRBV2*03", j_call), (junction, "TRBV99", j_call)]
    first, other_allele, unknown = generation.probabilities(given, "TRB", "homosapiens")
    assert first == other_allele > 0
    assert unknown is None


def test_compiled_and_plain_code_agree(monkeypatch):
    chains = [(junction, v, j) for v, j, junction in (BETA, BETA_2)]
    plain = generation.probabilities(chains, "TRB", "homosapiens")
    monkeypatch.setitem(generation._WORTH_COMPILING, "TRB", 0)
    np.testing.assert_allclose(generation.probabilities(chains, "TRB", "homosapiens"), plain, rtol=1e-12)


def test_receptors_of_mice_have_mouse_models():
    made = synthesis.synthesise(3, seed=3)
    human = generation.receptor_probabilities(made, species="homosapiens")
    assert human.schema == schema.GENERATION
    logs = generation.log10_probabilities(human)
    expected = sum(np.log10(human[name].to_numpy()) for name in schema.GENERATION.names[1:])
    np.testing.assert_allclose(logs, expected)
    mouse = generation.probabilities([("CASSEGTEAFF", "TRBV2*01", "TRBJ1-1*01")], "TRB", "musmusculus")
    assert mouse != generation.probabilities(
        [("CASSEGTEAFF", "TRBV2*01", "TRBJ1-1*01")], "TRB", "homosapiens"
    )


def test_log_of_nothing_is_nan():
    table = schema.GENERATION.empty_table()
    assert generation.log10_probabilities(table).shape == (0,)
    table = pa.table([["a", "b", "c"], [0.0, None, 0.1], [0.1, 0.1, 0.01]], schema=schema.GENERATION)
    np.testing.assert_allclose(generation.log10_probabilities(table), [np.nan, np.nan, -3])
