"""Innate-like receptors: published MAIT and iNKT receptors, and some that differ from them in one place."""

from airrvec.core import identity, innate, schema
from airrvec.synthetic.synthesis import synthesise

import pyarrow as pa
import pytest

HUMAN, MOUSE = "homosapiens", "musmusculus"
MAIT = (HUMAN, "TRAV1-2*01", "TRAJ33*01", "CAVMDSNYQLIW", "TRBV6-4*01", "TRBJ2-3*01", "CASSDSGESGTEAFF")
INKT = (HUMAN, "TRAV10*01", "TRAJ18*01", "CVVSDRGSTLGRLYF", "TRBV25-1*01", "TRBJ2-7*01", "CASSEFGGTYEQYF")
MOUSE_INKT = (MOUSE, "TRAV11*02", "TRAJ18*01", "CVVGDRGSALGRLHF", "TRBV13-2*01", "TRBJ2-4*01", "CASGDEGYTQYF")
MOUSE_MAIT = (MOUSE, "TRAV1*01", "TRAJ33*01", "CAVRDSNYQLIW", "TRBV19*01", "TRBJ2-1*01", "CASSIGAEQFF")


FIELDS = pa.schema([(name, pa.string()) for name in ("species", *schema.RECEPTOR_FIELDS)])


def named(row: tuple) -> dict:
    return dict(zip(FIELDS.names, row, strict=True))


def kinds(*rows) -> list:
    return innate.innate_like(pa.Table.from_pylist([named(row) for row in rows], FIELDS)).to_pylist()


def changed(row: tuple, **values) -> tuple:
    return tuple((named(row) | values).values())


@pytest.mark.parametrize(
    ("row", "kind"), [(MAIT, "MAIT"), (INKT, "iNKT"), (MOUSE_INKT, "iNKT"), (MOUSE_MAIT, "MAIT")]
)
def test_published_receptors_follow_a_rule(row, kind):
    no_beta = {schema.field("TRB", name): None for name in schema.CHAIN_FIELDS}
    no_alpha = {schema.field("TRA", name): None for name in schema.CHAIN_FIELDS}
    other = {HUMAN: MOUSE, MOUSE: HUMAN}[row[0]]
    assert (
        kinds(
            row,
            changed(row, **no_beta),  # the α chain alone is enough
            changed(row, **no_alpha),  # the β chain alone is not
            changed(row, trb_v_call="TRBV7-9*01"),  # a β chain that does not fit
            changed(row, tra_v_call="TRAV12-1*01"),
            changed(row, tra_j_call="TRAJ49*01"),
            changed(row, tra_junction_aa=row[3][:3] + "G" + row[3][3:]),  # one residue more
            changed(row, tra_junction_aa=None),
            changed(row, species=other),
            changed(row, species=None),
            tuple(value and value.split("*")[0] for value in row),  # no alleles
        )
        == [kind, kind, *[None] * 8, kind]
    )


@pytest.mark.parametrize(
    ("gene", "junction", "kind"),
    [
        ("TRAJ33", "CAVRDSNYQLIW", "MAIT"),
        ("TRAJ33", "CAAMDSNYQLIW", "MAIT"),
        ("TRAJ12", "CAVMDSSYKLIF", "MAIT"),
        ("TRAJ20", "CAVRSNDYKLSF", "MAIT"),
        ("TRAJ20", "CAVNDYKLSF", None),
        ("TRAJ33", "CAVSPFDSNYQLIW", None),
        ("TRAJ33", "CAVMDSNFQLIW", None),  # without the tyrosine
    ],
)
def test_alpha_chains_of_mait_cells_have_twelve_residues_and_the_tyrosine(gene, junction, kind):
    assert kinds(changed(MAIT, tra_j_call=gene, tra_junction_aa=junction)) == [kind]


def test_receptors_tables_name_the_kind():
    fields = pa.Table.from_pylist([named(MAIT), named(changed(MAIT, tra_j_call="TRAJ49*01"))], FIELDS)
    table = identity.receptors_table(fields, pa.array([schema.SINGLE_PAIR] * 2))
    assert table["innate_like"].to_pylist() == ["MAIT", None]


def test_generated_receptors_are_almost_never_innate_like():
    # 17 of 200,000 were (docs/explanations/innate_like.md); more than 10 of 20,000 are 1 in 100,000.
    found = synthesise(20_000, seed=3)["innate_like"]
    assert len(found) - found.null_count <= 10
