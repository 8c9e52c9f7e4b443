"""What the HLA of donors excluded from the annotation, in the MultiQC report."""

from airrvec.core.terminal import counted
from airrvec.report import receptor_cells as cells
from airrvec.report.page import COUNT, escaped, section

N_EPITOPES = 5  # excluded epitopes that a cell names


def typed(samples: list[dict]) -> list[dict]:
    """Return the samples whose donor's HLA is known."""
    return [sample for sample in samples if sample.get("hla")]


def hla_section(samples: list[dict], titles: dict[tuple[str, str], str]) -> dict:
    """
    Return the section of the typed samples: HLA, epitopes that may be called, calls that it prevents.

    Parameters
    ----------
    samples : list of dict
        Counts of ``annotate_receptors.py``; at least one has ``hla``.
    titles : dict
        From `airrvec.report.page.group_titles`.
    """
    classes = {
        (group["species"], group["chains"]): None
        for sample in typed(samples)
        for group in sample["groups"]
        if "candidates" in group
    }
    data = {
        escaped(sample["sample_id"]): {
            "hla": cells.text_cell(sample["hla"].replace(";", "; ")),
            **{f"left_{species}_{chains}": _left(sample, species, chains) for species, chains in classes},
            "excluded": sum(sample["excluded"].values()),
            "epitopes": cells.text_cell(_named(sample["excluded"])),
        }
        for sample in typed(samples)
    }
    headers = {
        "hla": cells.text_header("Donor's HLA", "Column <code>hla</code> of the samplesheet, at two fields"),
        **{
            f"left_{species}_{chains}": cells.text_header(
                f"Epitopes that can be called, {titles[species, chains]}",
                "Epitopes with enough references, less those whose MHC the donor lacks",
            )
            for species, chains in classes
        },
        "excluded": {
            "title": "Calls prevented",
            **COUNT,
            "description": "Receptors that would be called with an epitope whose MHC the donor lacks",
        },
        "epitopes": cells.text_header(
            "Their epitopes",
            "With the number of receptors; <code>excluded_epitope</code> of the sample's table",
        ),
    }
    without = len(samples) - len(typed(samples))
    words = [
        "An epitope is not called if the donor is typed at the locus of its MHC and has none of its alleles."
        " An epitope whose locus is not typed, or whose MHC is not known, can be called.",
        f"{counted(without, 'sample')} without HLA: all epitopes can be called." if without else "",
    ]
    return section(
        "airrvec_annotation_hla",
        "Epitopes that the donors' HLA excludes",
        "<br>".join(filter(None, words)),
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Sample"},
    )


def _left(sample: dict, species: str, chains: str) -> str:
    """Return the number of epitopes that may be called, as text: ``12 of 45``."""
    for group in sample["groups"]:
        if (group["species"], group["chains"]) == (species, chains):
            left = group["candidates"] - group["excluded"]
            return cells.text_cell(f"{left:,} of {group['candidates']:,}")
    return ""


def _named(excluded: dict[str, int]) -> str:
    """Return the epitopes with most receptors, as text: ``GILGFVFTL 12, NLVPMVATV 3``."""
    ordered = sorted(excluded.items(), key=lambda item: (-item[1], item[0]))
    more = f", and {counted(len(ordered) - N_EPITOPES, 'other epitope')}" if len(ordered) > N_EPITOPES else ""
    return ", ".join(f"{epitope} {n:,}" for epitope, n in ordered[:N_EPITOPES]) + more
