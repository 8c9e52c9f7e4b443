#!/usr/bin/env python3
"""
A report in a real browser: size, time until it is open and at rest, errors of its console, contrast of text,
and pictures of its beginning at two widths in both themes.
"""

import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT / "tests"), str(ROOT)]

import browser
from benchmarks.common import results

WIDTHS = {1280: 2400, 400: 2400}  # width of the window → height of the picture, pixels
REPEATS = 5
COLOURS = 200  # of a picture


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("report", type=Path, help="multiqc_report.html")
    parser.add_argument("--pictures", type=Path, help="folder for pictures, <name>_<width>_<theme>.png")
    parser.add_argument("--name", default="report", help="beginning of their names")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    address = args.report.resolve().as_uri()
    if browser.CHROMIUM is None:
        sys.exit("no Chromium on the path")
    size = args.report.stat().st_size / 1e6
    print(f"{args.report}: {size:.2f} MB")
    with tempfile.TemporaryDirectory() as folder, browser.opened(Path(folder)) as page:
        seconds = []
        for _ in range(REPEATS):
            started = time.monotonic()
            page.open(address, 1280)
            seconds.append(time.monotonic() - started)
        print(f"open after {min(seconds):.2f} to {max(seconds):.2f} s, {REPEATS} times")
        table = results.Table(
            width="d",
            theme="",
            errors="d",
            page_width="d",
            contrast_of_words=".1f",
            contrast_of_legends=".1f",
        )
        for width, height in WIDTHS.items():
            for theme in ("light", "dark"):
                page.prefer(theme)
                page.open(address, width, height)
                page.rest()
                wide = page.value("document.documentElement.scrollWidth")
                words = min(page.contrasts(browser.WORDS, "color"))[0]
                plots = min(page.contrasts(f"{browser.LEGENDS}, {browser.AXES}", "fill"))[0]
                table.add(
                    **{"width": width, "theme": theme, "errors": len(page.errors), "page_width": wide},
                    **{"contrast_of_words": words, "contrast_of_legends": plots},
                )
                if args.pictures:
                    args.pictures.mkdir(parents=True, exist_ok=True)
                    path = args.pictures / f"{args.name}_{width}_{theme}.png"
                    page.screenshot(path, whole=False)
                    Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    results.write(args, {"size_MB": size, "open_s": seconds, "pages": table.rows})


if __name__ == "__main__":
    main()
