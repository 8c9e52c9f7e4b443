"""The summary for the terminal. It fits a screen, whatever the number of samples."""

from airrvec.core.terminal import counted, printable
from airrvec.encoders import Titles
from airrvec.report.page import counted_in, read_alike
from airrvec.report.sections.quality import public_sentence

MOST = 20  # samples and notes that have a line each
WORST = 10  # samples that have one if there are more

HEAD = "Sample            Format    Rows read   Kept  Rejected           Counted  Receptors"


def summary_text(samples: list[dict], receptors: dict, embeddings: dict, titles: Titles) -> str:
    """Return the summary of a run; ``samples`` are the QC of each, the others that of all of them."""
    lines = [*_table(samples), *_readings(samples), *_notes(samples), ""]
    if not embeddings:
        return (
            "\n".join(map(printable, [*lines, "No cell has an α or β chain: no receptor has a vector"]))
            + "\n"
        )
    embedded = counted(embeddings["receptors"], "distinct receptor")
    sentence = (
        f"{embedded} embedded by {titles[embeddings['model']]} in {embeddings['dimensions']} dimensions"
    )
    if embeddings["without_vector"]:
        sentence += f"; {embeddings['without_vector']:,} have no loop that the model uses, and no vector"
    return "\n".join(map(printable, [*lines, sentence, *public_sentence(receptors)])) + "\n"


def _table(samples: list[dict]) -> list[str]:
    """Return a line for each sample or, of many, for the samples that lost most rows; and one for all."""
    if len(samples) <= MOST:
        return [HEAD, *map(_line, samples)]
    names = ("rows_in", "rows_out", "rows_rejected", "abundance")
    total = {name: sum(sample[name] for sample in samples) for name in names}
    units = {sample["count_unit"] for sample in samples}
    total["count_unit"] = units.pop() if len(units) == 1 else None
    worst = sorted(samples, key=_rejected, reverse=True)[:WORST]
    return [
        f"{len(samples)} samples; the {WORST} with the largest shares of rejected rows:",
        HEAD,
        *map(_line, worst),
        # Samples share receptors: their numbers are no sum.
        _line({"sample_id": f"all {len(samples)}", "format": "", "receptors": "", **total}),
    ]


def _rejected(sample: dict) -> float:
    return sample["rows_rejected"] / max(sample["rows_in"], 1)


def _line(sample: dict) -> str:
    n_receptors = sample["receptors"] if sample["receptors"] == "" else f"{sample['receptors']:,}"
    unit = sample["count_unit"]  # numbers of several units have no sum
    counted_as = counted_in(sample["abundance"], unit) if unit else ""
    return (
        f"{sample['sample_id'][:17]:<17} {sample['format']:<8} {sample['rows_in']:>10,}"
        f" {sample['rows_out']:>6,} {sample['rows_rejected']:>9,} {counted_as:>17} {n_receptors:>10}"
    ).rstrip()


def _readings(samples: list[dict]) -> list[str]:
    lines = read_alike(samples)
    if len(lines) > MOST:
        n_more = len(lines) - WORST
        lines = [*lines[:WORST], f"and {counted(n_more, 'other way')}: see section Samples of the report"]
    return ["", "Read as", *lines]


def _notes(samples: list[dict]) -> list[str]:
    notes = [
        f"Note: {sample['sample_id']}: {warning}" for sample in samples for warning in sample["warnings"]
    ]
    if len(notes) > MOST:
        n_more = len(notes) - WORST
        notes = [*notes[:WORST], f"and {counted(n_more, 'further note')}: see section Samples of the report"]
    return ["", *notes] if notes else []
