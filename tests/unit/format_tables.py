"""Reasons of rejects, and receptors of the hand-written tables of formats."""

from inputs import NO_CHAIN

MISSING = "junction_aa is missing"

NOT_A_CELL = "the barcode was not called a cell"
NOT_AB = "not an α or β chain of a T-cell receptor"

NOT_PRODUCTIVE = "the chain is not productive"

OUT_OF_FRAME = "junction_aa is out of frame (_)"
STOP = "junction_aa holds a stop codon (*)"


def alone(*chain) -> tuple:
    """A receptor of one chain, α if its V or J gene is."""
    return (*chain, *NO_CHAIN) if str(chain[0] or chain[1]).startswith("TRA") else (*NO_CHAIN, *chain)


def columns_of(result, *names: str) -> list[tuple]:
    return [tuple(cell[name] for name in names) for cell in result.cells.to_pylist()]
