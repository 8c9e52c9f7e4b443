"""Schemas of the tables on the run itself, in ``pipeline_info``."""

from airrvec.core.schema.published import float64, int64, published, string

_NOT_READ = "the table was not read"
CHECKED = published(
    "checked",
    "pipeline_info/samples.tsv",
    "What the [check](usage.md#check-of-all-tables) found at the beginning of each table.",
    string("sample_id", "`sample` of the samplesheet, `labelled`, or the name of a reference"),
    string("table", "Name of the file"),
    string("format", "Format of the table", null=_NOT_READ),
    string("species", "Species of the cells, the most frequent first", null=_NOT_READ),
    string(
        "row_unit",
        "What a row is: `chain`, `cell`, `clonotype` or `pair` ([units](reference/input.md#unit-of-a-row))",
        null=_NOT_READ,
    ),
    string("count_unit", "What is counted, as in `cells`", null=_NOT_READ),
    int64("rows", "Rows that were read", null=_NOT_READ),
    int64("kept", "Rows with a receptor", null=_NOT_READ),
    int64("paired", "Cells with both chains", null=_NOT_READ),
    int64("alpha", "Cells with an α chain only", null=_NOT_READ),
    int64("beta", "Cells with a β chain only", null=_NOT_READ),
    int64("gamma_delta", "[γδ cells](explanations/gamma_delta.md)", null=_NOT_READ),
    float64("share", "Share of the table that was read, 0 to 1", null=_NOT_READ),
    string(
        "columns",
        "What its columns mean: `cell = cell_barcode · count = transcript_count (UMIs) · quality ="
        " productive` ([names](reference/input.md#names-of-cells-counts-and-flags))",
        null=_NOT_READ,
    ),
    string(
        "warnings",
        "[Signs](reference/input.md#plausibility) that the table is not what it was read as, joined by ` · `",
        null="none",
    ),
)

MANIFEST = published(
    "manifest",
    "pipeline_info/manifest.tsv",
    "One row per file that the run published and per file that it was given, sorted by `path`.",
    string(
        "path",
        "Result: path in `--outdir`. Input: as given in the samplesheet or parameter; a relative path begins"
        r" in the folder of the launch or beside the samplesheet. Backslash, tab and line break are written"
        r" `\\`, `\t`, `\n`, `\r`.",
    ),
    string("kind", "`result` or `input`"),
    string("sha256", "SHA-256, 64 hexadecimal digits"),
    int64("size", "Size of the file", unit="bytes"),
    int64(
        "rows", "Rows of a Parquet or TSV result; rows that were read of an input table", null="other files"
    ),
    string(
        "schema",
        "First 16 hexadecimal digits of the SHA-256 of the columns, one per line: `name: type` for Parquet,"
        " `name` for TSV",
        null="other files",
    ),
    string("process", "Process that wrote the result or read the input", null="other inputs"),
    string(
        "code",
        "SHA-256 of the script of this process and of the library that it imports. Any edit of them changes"
        " it.",
        null="other inputs",
    ),
    string("sample", "`sample_id` of an input table", null="other files"),
)
