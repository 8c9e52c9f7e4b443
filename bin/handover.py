#!/usr/bin/env python3
"""Write what is handed over beside report and map: summary, spreadsheets, figures, and a README."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from airrvec.core import script, tables
from airrvec.core.errors import InputError
from airrvec.core.missing import optional_part, write_missing
from airrvec.core.progress import step
from airrvec.core.terminal import print_warning
from airrvec.report.handover import FOLDER

TITLE = "T-cell receptor repertoire report"


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument(
        "--results", type=Path, required=True, help="folder with tables of the run, as --outdir"
    )
    parser.add_argument(
        "--sections", type=Path, required=True, help="folder with the sections that report.py wrote"
    )
    parser.add_argument("--has-map", action="store_true", help="the report has a map beside it")
    parser.add_argument("--heading", default=TITLE, help="title of the report")
    script.add_options(parser, "outdir", "missing")
    return parser.parse_args(argv)


class _Made:
    """What the folder holds, what the run has no numbers for, and what failed: name → text."""

    def __init__(self):
        self.entries: dict[str, str] = {}
        self.not_made: dict[str, str] = {}
        self.failed: dict[str, str] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Go on without a part that fails or that the run has no numbers for, and note why."""
        from airrvec.figures.run.material import NotDrawn

        try:
            with step(name):
                yield
        except NotDrawn as reason:
            self.not_made[name] = f"{reason}."
        except Exception as problem:
            print_warning(*traceback.format_exc().splitlines())
            kind = "" if isinstance(problem, InputError) else f"{type(problem).__name__}: "
            self.failed[name] = f"{kind}{problem}"
            # Not the reason itself, which may name folders of this machine.
            self.not_made[name] = "could not be made: an error, of which the run's log has the reason."


@optional_part("handover")
def main(argv=None):
    args = parse_args(argv)
    from airrvec.figures.run.material import Results
    from airrvec.report.handover import drawn, report_page, sheets

    results, folder, made = Results(args.results), args.outdir / FOLDER, _Made()
    # render_report.py puts them there meanwhile.
    names = [report_page.REPORT, *([report_page.MAP] if args.has_map else [])]
    made.entries |= {name: report_page.TEXTS[name] for name in names}
    figures = {}
    for name in drawn.FIGURES:
        with made.part(f"figures/{name}"):
            figures[name] = drawn.write_figure(name, results, folder / "figures")
    with made.part("summary.pdf"):
        drawn.write_summary(args.heading, args.sections, results, figures, folder / "summary.pdf")
        made.entries["summary.pdf"] = "The run on one or two pages: answers, figures, methods."
    with made.part("clones.xlsx"):
        written = sheets.write_clones(results, folder / "clones.xlsx")
        which = f"The {written.rows:,} clones of the largest shares" if written.left_out else "All clones"
        made.entries["clones.xlsx"] = f"{which}: size, samples, receptor, call, cluster."
    with made.part("calls.xlsx"):
        sheets.write_calls(sheets.calls_of(results), folder / "calls.xlsx")
        made.entries["calls.xlsx"] = (
            "Receptors of all samples that are called for an epitope or equal a reference."
        )
    made.entries |= {f"figures/{name}": drawn.described(name) for name in figures}
    text = drawn.readme_text(args.heading, args.sections, results, made.entries, made.not_made)
    tables.write_text(text, folder / "README.txt")
    if made.failed:
        missing = [{"part": "handover", "name": name, "reason": why} for name, why in made.failed.items()]
        if not args.missing:
            raise InputError("; ".join(f"{entry['name']}: {entry['reason']}" for entry in missing))
        write_missing(missing, args.missing[0].with_name("files.missing.json"))
    script.write_versions(args, "fpdf2", "matplotlib", "pandas", "pyarrow", "xlsxwriter")


if __name__ == "__main__":
    main()
