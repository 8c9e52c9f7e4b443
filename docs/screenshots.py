#!/usr/bin/env python3
"""
Pictures and summaries in the documentation that come from runs, made by `make screenshots`.

Takes pictures of the report and the map of the demonstration, draws numbered marks on them, and copies the
summaries of the runs into the pages that quote them. Needs chromium or chrome on the path.
"""

import argparse
import io
import json
import re
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import browser
from pictures import MAP_MARKS, REPORT, Mark, Shot

IMAGES = ROOT / "docs/images"
WIDTH = 1280
COLOURS = 200

# Room for the marks on the headers of tables; nothing glides while a picture is taken.
_STYLE = """
() => { const style = document.createElement('style');
    style.textContent = '.mqc_table_control_buttons { margin-bottom: 16px; } '
        + '* { transition: none !important; animation: none !important; }';
    document.head.append(style); }
"""
# Draw a numbered circle at a place of an element or, without a place, ``gap`` pixels left of its first line.
# The element is the first visible one that the selector finds and whose text contains the words.
_MARK = """
(selector, words, place, gap, number) => {
    const element = [...document.querySelectorAll(selector)].find(
        e => e.getClientRects().length && e.textContent.includes(words));
    if (!element) return false;
    const box = element.getBoundingClientRect();
    const [x, y] = place ? [box.x + place[0] * box.width, box.y + place[1] * box.height]
                         : [box.x - gap, box.y + Math.min(12, box.height / 2)];
    const badge = document.createElement('div');
    badge.textContent = number;
    badge.className = 'documentation-mark';
    badge.style.cssText = `position: absolute; left: ${x + scrollX - 11}px; top: ${y + scrollY - 11}px;
        width: 22px; height: 22px; border-radius: 50%; background: #b3261e; color: white; z-index: 99999;
        font: bold 14px/22px sans-serif; text-align: center; box-shadow: 0 0 0 2px white;`;
    document.body.append(badge);
    return true;
}
"""


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("demo", type=Path, help="results of `make demo`")
    parser.add_argument("start", type=Path, help="results of the run of docs/start.md")
    parser.add_argument("--benchmark", type=Path, help="results of the run of docs/benchmarks/few_shot.md")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    if browser.CHROMIUM is None:
        sys.exit("ERROR: neither chromium nor chrome is on the path")
    (IMAGES / "report").mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browser.opened(Path(folder)) as page:
        page.open((args.demo / "multiqc/multiqc_report.html").resolve().as_uri(), WIDTH)
        page.value(f"({_STYLE})()")
        page.value("document.querySelector('.airrvec-unfold-all').click()")
        page.rest()  # MultiQC draws its plots later, which moves what is below them
        missing = [message for shot in REPORT for message in take(page, shot)]
        missing += picture_map(page, args.demo, "map", "Epitope (labelled)")
        missing += picture_map(page, args.demo, "report/map", "Epitope (labelled)", MAP_MARKS)
        missing += picture_map(page, args.start, "start_map", "Chain pairing", search="TRAV1-2")
    if args.benchmark:
        save((args.benchmark / "benchmark/auroc_against_k.png").read_bytes(), "auroc_against_k")
    quote(args.demo, ROOT / "docs/report.md")
    quote(args.start, ROOT / "docs/start.md")
    if missing:
        sys.exit("ERROR: not found: " + "; ".join(missing))


def take(page, shot: Shot) -> list[str]:
    """Save the picture of a part of an open page; return the marks for which there is no element."""
    while True:  # MultiQC may move what is on the page meanwhile
        missing = draw_marks(page, shot)
        before = bounds(page, shot)
        margin = 28 if shot.marks else 0
        left, top = max(0, before[0] - margin), max(0, before[1] - margin / 2)
        width, height = min(before[2] + 8, WIDTH) - left, min(before[3] - top, shot.height)
        picture = page.picture(x=left, y=top, width=width, height=height)
        if bounds(page, shot) == before:
            save(picture, shot.name)
            return missing


def draw_marks(page, shot: Shot) -> list[str]:
    """Draw the marks of a picture, and no other; return those for which there is no element."""
    page.value("document.querySelectorAll('.documentation-mark').forEach(mark => mark.remove())")
    missing = []
    for number, (selector, words, place, gap) in enumerate(shot.marks, start=1):
        arguments = json.dumps([selector, words, place, gap, number])
        if not page.value(f"({_MARK})(...{arguments})"):
            missing.append(f"{shot.name}: {selector} {words}")
    return missing


def bounds(page, shot: Shot) -> list[float]:
    """Return left, top, right and bottom of a part, in pixels of the whole page."""
    return page.value(
        f"(() => {{ const [a, b] = [{shot.first!r}, {shot.last!r}].map("
        "selector => document.querySelector(selector).getBoundingClientRect());"
        " return [a.x + scrollX, a.y + scrollY, a.right + scrollX, b.bottom + scrollY]; })()"
    )


def picture_map(
    page, results: Path, name: str, colour: str, marks: tuple[Mark, ...] = (), search: str = ""
) -> list[str]:
    """Save the picture of a run's map, coloured by a column."""
    page.open((results / "map/map.html").resolve().as_uri(), WIDTH)
    page.value(
        "(() => { const colour = document.querySelector('#colour');"
        f" colour.value = [...colour.options].find(o => o.textContent == {colour!r}).value;"
        " colour.dispatchEvent(new Event('change')); })()"
    )
    page.settle()
    if search:
        page.type("#search", search)
        page.rest()
    return take(page, Shot(name, "body", "main", marks))


def save(png: bytes, name: str) -> None:
    """Save a picture with few colours."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    few = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)  # keeps rare colours
    few.save(IMAGES / f"{name}.png", optimize=True)


def quote(results: Path, page: Path) -> None:
    """Replace the summary that a page quotes by that of a run."""
    summary = (results / "summary.txt").read_text().strip()
    text, found = re.subn(
        r"(?<=```\n)Sample .*?(?=\n```)", lambda _: summary, page.read_text(), flags=re.DOTALL
    )
    if found != 1:
        raise SystemExit(f"ERROR: {page} quotes {found} summaries")
    page.write_text(text)


if __name__ == "__main__":
    main()
