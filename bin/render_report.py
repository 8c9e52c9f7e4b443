#!/usr/bin/env python3
"""Make the page of the report of the sections that report.py wrote, by MultiQC."""

import argparse
from pathlib import Path

from airrvec.core import script
from airrvec.core.errors import exit_on_input_error
from airrvec.report import multiqc
from airrvec.report.handover import FOLDER, report_page


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--content", type=Path, required=True, help="folder that report.py wrote")
    parser.add_argument(
        "--handover", action="store_true", help="copy page and map into the folder to hand over, too"
    )
    parser.add_argument("--map", type=Path, help="map.html")
    parser.add_argument("--multiqc", nargs=argparse.REMAINDER, default=[], help="further options of MultiQC")
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    multiqc.write_page(args.content, args.multiqc)
    if args.handover:
        report_page.copy_report(multiqc.PAGE, args.map, Path(FOLDER))


if __name__ == "__main__":
    main()
