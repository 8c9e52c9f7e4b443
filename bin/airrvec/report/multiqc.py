"""MultiQC's page of the content that report.py writes."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

from airrvec.core import tables
from airrvec.core.errors import InputError

PAGE, DATA = Path("multiqc_report.html"), Path("multiqc_report_data")
STYLE = "report.css"  # of the page, beside the sections
# Header of gzip in base64, with the time of compression in the third to eighth letter.
_GZIP = re.compile(r"\bH4sI[A-Za-z0-9+/]{8}")
# A copy of all tables for summaries by AI, which the report does not offer: a fifth of its size.
_FOR_AI = re.compile(r'(aiReportMetadataBase64 = ")[^"]*')
_TIME = re.compile(r'(configCreationDate = ")[^"]*')
_UUID = re.compile(r'(reportUuid = ")[^"]*')
# Folders and time of the task, in multiqc_data.json.
_CIRCUMSTANCES = ("config_analysis_dir_abs", "config_output_dir", "report_creation_date")


def write_page(content: Path, options: list[str]) -> None:
    """
    Write MultiQC's page and data of a folder into the working folder.

    Two tasks of the same content write the same bytes: what tells of their times and folders is left out.

    Parameters
    ----------
    content : pathlib.Path
        Sections, and the page's style.
    options : list of str
        Further options of ``multiqc``.

    Raises
    ------
    InputError
        MultiQC fails; it has said why.
    """
    # MultiQC itself reads a folder in the order of the disk.
    files = Path("multiqc_files.txt")
    tables.write_text("".join(f"{path}\n" for path in sorted(content.iterdir())), files)
    command = [sys.executable, "-m", "multiqc", "--filename", str(PAGE), "--force", "--no-version-check"]
    command += ["--custom-css-file", str(content / STYLE)]
    status = subprocess.run([*command, *options, "--file-list", files]).returncode
    if status < 0:  # killed, for example for its memory: the task then runs again with more
        sys.exit(128 - status)
    if status or not PAGE.is_file():
        raise InputError(f"MultiQC made no report (exit status {status}): see its words above")
    html = _FOR_AI.sub(r"\1bnVsbA==", PAGE.read_text("utf-8"))
    html = _GZIP.sub("H4sIAAAAAAAA", html)
    html = _UUID.sub(r"\1", _TIME.sub(r"\1", html))
    # The page keeps its reader's settings under this name.
    name = hashlib.sha256(html.encode()).hexdigest()[:32]
    tables.write_text(_UUID.sub(rf"\g<0>{name}", html), PAGE)
    for path in (DATA / "multiqc.log", DATA / "multiqc.parquet"):  # times, also in every row of the table
        path.unlink(missing_ok=True)
    for path in DATA.glob("multiqc_data.json"):
        data = json.loads(path.read_text("utf-8"))
        kept = {key: value for key, value in data.items() if key not in _CIRCUMSTANCES}
        tables.write_json(kept, path, indent=4)
