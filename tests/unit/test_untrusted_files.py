"""Files that would crash, fill or hold up what reads them: each ends in one sentence."""

import bz2
import gzip
import json
import os
import resource
import signal
import sys
from pathlib import Path

from airrvec.core.errors import InputError, exit_on_input_error
from airrvec.core.json_files import read_object
from airrvec.input import reading
from airrvec.input.files import json_table, parquet_table, processor_time, separate
from airrvec.model import weights
from airrvec.training import presets

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inputs import ALPHA, BETA, DATA, chains_of, normalised, normalised_text

import memory

# --- HDF5 and Parquet, in a process of their own


NATIVE = pytest.mark.parametrize(
    ("name", "kind", "library"), [("scirpy.h5ad", "AnnData", "HDF5"), ("sceptr.parquet", "Parquet", "Arrow")]
)


@NATIVE
def test_a_crash_is_an_error_of_the_file_and_the_next_file_is_read(name, kind, library, monkeypatch):
    crash = f"import os; input(); os.kill(os.getpid(), {int(signal.SIGSEGV)})"
    start = separate._start
    monkeypatch.setattr(separate, "process", separate.Process())
    monkeypatch.setattr(separate, "_start", lambda: started(crash))
    with pytest.raises(InputError) as error:
        normalised(DATA / name)
    assert str(error.value) == (
        f"{name}: the {kind} file is damaged or is not {kind} ({library} crashed on it, SIGSEGV)."
        " Copy or download it again and compare its size or checksum with the original."
    )
    monkeypatch.setattr(separate, "_start", start)
    assert normalised(DATA / name).counts["cells"] > 0


@NATIVE
def test_a_file_that_never_ends_is_an_error_of_the_file(name, kind, library, monkeypatch):
    endless = (
        "import sys; from airrvec.input.files import processor_time as t; t.SECONDS = 0;"
        " sys.stdin.readline(); t.limit_time(0)\nwhile True: pass"
    )
    monkeypatch.setattr(separate, "process", separate.Process())
    monkeypatch.setattr(separate, "_start", lambda: started(endless))
    with pytest.raises(
        InputError, match=rf"damaged or is not {kind} .{library} did not finish reading it.*Copy"
    ):
        normalised(DATA / name)


@NATIVE
def test_too_little_memory_is_no_error_of_the_file(name, kind, library, monkeypatch):
    killed = f"import os; input(); os.kill(os.getpid(), {int(signal.SIGKILL)})"
    monkeypatch.setattr(separate, "process", separate.Process())
    monkeypatch.setattr(separate, "_start", lambda: started(killed))
    with pytest.raises(MemoryError, match=rf"^{name}: there was too little memory to read it$"):
        normalised(DATA / name)


def test_a_table_whose_process_ends_between_two_batches_is_refused_and_not_read_twice(monkeypatch, tmp_path):
    """Another file may crash the process that both share."""
    pq.write_table(pq.read_table(DATA / "sceptr.parquet"), tmp_path / "x", row_group_size=1)
    monkeypatch.setattr(separate, "process", separate.Process())
    monkeypatch.setattr(parquet_table, "BATCH_ROWS", 1)
    batches = parquet_table.ParquetTable(tmp_path / "x").batches(["TRAV"])
    assert len(next(batches).table) == 1
    separate.process._running.kill()
    separate.process._running.wait()
    with pytest.raises(MemoryError):  # what a signal of the system's means
        next(batches)

    batches = parquet_table.ParquetTable(tmp_path / "x").batches(["TRAV"])
    next(batches)
    monkeypatch.setattr(separate, "process", separate.Process())
    with pytest.raises(InputError, match="the process that read it has ended"):
        next(batches)


def test_two_parquet_files_are_read_in_turn(monkeypatch):
    monkeypatch.setattr(parquet_table, "BATCH_ROWS", 2)
    one, other = (parquet_table.ParquetTable(DATA / "sceptr.parquet").batches(["TRAV"]) for _ in range(2))
    pairs = list(zip(one, other, strict=True))
    assert len(pairs) > 1
    assert all(left.table.equals(right.table) for left, right in pairs)


def started(program: str):
    """A process that runs a program in place of the reader."""
    pipe = separate.subprocess.PIPE
    path = str(Path(reading.__file__).parents[2])
    return separate.subprocess.Popen(
        [sys.executable, "-P", "-c", program], stdin=pipe, stdout=pipe, env={**os.environ, "PYTHONPATH": path}
    )


def test_a_file_of_the_working_folder_is_no_module_of_the_reader(tmp_path, monkeypatch):
    """The table itself may be called ``anndata.py``."""
    monkeypatch.setattr(separate, "process", separate.Process())
    monkeypatch.chdir(tmp_path)
    table = tmp_path / "anndata.py"
    table.write_bytes((DATA / "scirpy.h5ad").read_bytes())
    assert normalised("anndata.py").cells.equals(normalised(DATA / "scirpy.h5ad").cells)


def test_an_element_of_anndata_has_a_limit(tmp_path):
    h5py = pytest.importorskip("h5py")
    (tmp_path / "x").write_bytes((DATA / "scirpy.h5ad").read_bytes())
    with h5py.File(tmp_path / "x", "a") as file:
        del file["obs/epitope"]
        # Terabytes of zeros, of which the file holds nothing.
        zeros = file["obs"].create_dataset("epitope", (1 << 40,), "f8", chunks=(1 << 20,), compression="gzip")
        zeros.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    assert (tmp_path / "x").stat().st_size < 100_000
    with pytest.raises(InputError) as error:
        normalised(tmp_path / "x")
    assert str(error.value) == (
        "x, column 'obs/epitope': takes more than 2 GB unpacked, the limit of --max_unpacked."
        " If this is right, raise --max_unpacked, or give the table as text or unpacked Parquet."
    )


# --- What unpacks to more than it should


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
@pytest.mark.parametrize("name", ["sceptr.parquet", "scirpy.h5ad"])
def test_what_is_unpacked_in_memory_has_a_limit(name, pack, tmp_path):
    content = (DATA / name).read_bytes()
    (tmp_path / "x").write_bytes(pack(content))
    chains = [
        sum(len(batch.chains) for batch in reading.open_chains(path, None, None, limit).batches)
        for path, limit in ((tmp_path / "x", len(content)), (DATA / name, 10_000_000))
    ]
    assert chains[0] == chains[1] > 0
    with pytest.raises(
        InputError, match=r"^x: takes more than .* GB unpacked, the limit of --max_unpacked\."
    ):
        reading.open_chains(tmp_path / "x", None, None, len(content) - 1)


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path):
    """300 MB of zeros behind the first bytes of Parquet, in 300 kB."""
    with gzip.open(tmp_path / "x", "wb") as packed:
        packed.write(b"PAR1")
        for _ in range(300):
            packed.write(bytes(1 << 20))
    with (
        memory.added() as added_mib,
        pytest.raises(InputError, match=r"takes more than 0\.00976562 GB unpacked"),
    ):
        reading.open_chains(tmp_path / "x", None, None, 10 << 20)
    assert added_mib() < 100


def test_records_of_json_have_a_limit(tmp_path):
    record = {"v_call": BETA[0], "j_call": BETA[1], "junction_aa": BETA[2]}
    (tmp_path / "x").write_text(json.dumps([record] * 30_000))
    assert reading.open_chains(tmp_path / "x").format == "airr"
    with pytest.raises(
        InputError, match=r"^x: takes more than .* GB unpacked, the limit of --max_unpacked\."
    ):
        reading.open_chains(tmp_path / "x", None, None, 500_000)


def test_a_record_of_json_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(json_table, "CHUNK", 1_000)
    monkeypatch.setattr(json_table, "VALUE_LIMIT", 1 << 20)
    with pytest.raises(InputError, match=r"^x: a record is longer than 1 MB\. Check that the file is a list"):
        normalised_text(tmp_path / "x", '[{"junction_aa": "' + "A" * (4 << 20) + '"}]')
    # What airrvec does not read may have any length.
    clone = {"v_call": BETA[0], "j_call": BETA[1], "junction_aa": BETA[2]}
    long = json.dumps({"DataFile": ["x" * 1_000] * 4_000, "Clone": [clone]})
    assert len(chains_of(normalised_text(tmp_path / "x", long))) == 1


def test_a_cell_of_parquet_has_a_limit(tmp_path):
    columns = ("TRAV", "CDR3A", "TRAJ", "TRBV", "CDR3B", "TRBJ")
    row = [ALPHA[0], "A" * (5 << 20), ALPHA[1], BETA[0], BETA[2], BETA[1]]
    table = pa.table({name: [value] for name, value in zip(columns, row, strict=True)})
    pq.write_table(table, tmp_path / "x", compression="zstd")
    assert (tmp_path / "x").stat().st_size < 100_000
    with pytest.raises(
        InputError, match=r"^x, column 'CDR3A': holds cells of \d+ MB, and 4 MB are allowed\.$"
    ):
        normalised(tmp_path / "x")


def test_a_long_whole_number_of_json_is_read(tmp_path):
    record = f'"v_call": "{BETA[0]}", "j_call": "{BETA[1]}", "junction_aa": "{BETA[2]}"'
    numbers = f'"duplicate_count": {"9" * 5_000}, "umi_count": 7'
    with pytest.raises(
        InputError, match=r"column 'duplicate_count': s: 1 of 1 values are no count, the first '9{40}…'"
    ):
        normalised_text(tmp_path / "x", f"[{{{record}, {numbers}}}]")
    others = ", ".join(f'{{{record}, "duplicate_count": 1}}' for _ in range(20))
    result = normalised_text(tmp_path / "x", f"[{{{record}, {numbers}}}, {others}]")
    assert result.cells.select(["duplicate_count", "umi_count"]).to_pylist()[:2] == [
        {"duplicate_count": None, "umi_count": 7},
        {"duplicate_count": 1, "umi_count": None},
    ]


def test_a_task_with_too_little_memory_ends_as_one_that_is_killed_for_it(capsys):
    def main(argv):
        raise MemoryError("Unable to allocate 9 GiB")

    with pytest.raises(SystemExit) as end:
        exit_on_input_error(main)()
    assert end.value.code == 137
    assert capsys.readouterr().err == "ERROR: out of memory (Unable to allocate 9 GiB)\n"


# --- JSON of the user

NESTED = "[" * 100_000 + "]" * 100_000
BROKEN = {
    NESTED: "is not valid JSON (its lists or objects are nested too deeply)",
    '{"name": "\\ud800"}': "holds half of a surrogate pair (such as \\ud800), which is no character",
    "[1]": "is not a JSON object",
    '{"name"': "is not valid JSON (Expecting ':' delimiter: line 1 column 8 (char 7))",
    '{"step": ' + "9" * 5_000 + "}": "is not valid JSON (Exceeds the limit",
}
READERS = {
    "the preset": presets.load,
    "the column map": reading.read_column_map,
    "the configuration of the model": lambda path: weights.load(str(path.parent)),
}


@pytest.mark.parametrize("content", BROKEN, ids=["nested", "surrogate", "list", "cut", "number"])
@pytest.mark.parametrize("what", READERS)
def test_json_of_the_user_is_refused_in_one_sentence(what, content, tmp_path):
    (tmp_path / weights.WEIGHTS).write_bytes(b"")
    path = tmp_path / weights.CONFIG
    path.write_text(content)
    with pytest.raises(InputError) as error:
        READERS[what](path)
    assert str(error.value).startswith(f"config.json: {what} {BROKEN[content]}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["missing.json", "folder.json"])
def test_json_of_the_user_that_cannot_be_read_has_a_fix(name, tmp_path):
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(InputError, match=rf"^{name}: .* Give another file\.$"):
        read_object(tmp_path / name, "the preset", "Give another file")


def test_json_of_the_user_may_have_a_byte_order_mark(tmp_path):
    (tmp_path / "x.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_object(tmp_path / "x.json", "the preset") == {"a": 1}


def test_time_for_a_file_grows_with_its_size():
    """The limit is on this process too, so that it is taken back."""
    before = resource.getrlimit(resource.RLIMIT_CPU)
    used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
    limits = []
    for n_bytes in (0, 100 * processor_time.BYTES_A_SECOND):
        processor_time.limit_time(n_bytes)
        limits.append(resource.getrlimit(resource.RLIMIT_CPU)[0])
        resource.setrlimit(resource.RLIMIT_CPU, before)
    np.testing.assert_allclose(
        limits, [used + processor_time.SECONDS, used + processor_time.SECONDS + 100], atol=2
    )
