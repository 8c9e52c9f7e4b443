"""What a comparison of conditions lacks, known before the first long task."""

from collections import Counter
from collections.abc import Collection

from airrvec.core.plural import counted
from airrvec.input.samplesheet.sheet import Sheet

TESTED = 2  # samples that a value needs to be tested, as in `airrvec.repertoire.enrichment`
_SHOWN = 10  # values


def condition_notes(condition: str | None, sheet: Sheet | None, failed: Collection[str | None]) -> list[str]:
    """
    Return a sentence if no two values of a condition have two samples each, so that nothing can be tested.

    Parameters
    ----------
    condition : str or None
        Metadata column of the samplesheet.
    sheet : Sheet or None
    failed : collection of str
        Names of samples that are left out.
    """
    if condition is None or sheet is None or condition not in sheet.metadata:
        return []
    samples = [row for row in sheet.samples if row.role == "sample" and row.name not in failed]
    sizes = Counter(value for row in samples if (value := row.metadata[condition]))
    if sum(n >= TESTED for n in sizes.values()) > 1:
        return []
    found = ", ".join(f"{value} {n:,}" for value, n in sorted(sizes.items())[:_SHOWN]) or "none"
    more = f" and {counted(len(sizes) - _SHOWN, 'other value')}" if len(sizes) > _SHOWN else ""
    return [
        f"--compare_by {condition}: nothing will be tested, because this needs two values with at least"
        f" {TESTED} samples each (samples per value: {found}{more})"
    ]
