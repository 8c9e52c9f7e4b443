"""Tables in a zip, and text in the encodings of Excel."""

import gzip
import zipfile

from airrvec.core.errors import InputError

import pytest
from inputs import ALPHA, BETA, normalised, text

AIRR = ("v_call", "j_call", "junction_aa")


def test_a_zip_of_one_table_is_read_and_of_two_is_not(tmp_path):
    table = text(AIRR, [ALPHA, BETA])
    with zipfile.ZipFile(tmp_path / "one.zip", "w") as archive:
        archive.writestr("folder/table.tsv", table)
        archive.writestr("__MACOSX/._table.tsv", "x")
    assert len(normalised(tmp_path / "one.zip", "airr").cells) == 2
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("one.tsv", table)
        archive.writestr("two.tsv", table)
    with pytest.raises(InputError, match=r"^two.zip: is a zip of 2 files: one.tsv, two.tsv\. Unpack it"):
        normalised(tmp_path / "two.zip", "airr")
    with zipfile.ZipFile(tmp_path / "book.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "x")
    with pytest.raises(InputError, match=r"^book.xlsx: is a workbook of Excel"):
        normalised(tmp_path / "book.xlsx", "airr")


def test_what_a_zip_holds_may_be_packed_and_no_zip(tmp_path):
    table = gzip.compress(text(AIRR, [ALPHA, BETA]).encode())
    with zipfile.ZipFile(tmp_path / "one.zip", "w") as archive:
        archive.writestr("table.tsv.gz", table)
    assert len(normalised(tmp_path / "one.zip", "airr").cells) == 2
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.write(tmp_path / "one.zip", "one.zip")
    with pytest.raises(InputError, match=r"^two.zip: is a zip of another, one.zip\. Unpack it"):
        normalised(tmp_path / "two.zip", "airr")
    zipfile.ZipFile(tmp_path / "none.zip", "w").close()
    with pytest.raises(InputError, match=r"^none.zip: is a zip of 0 files\. Unpack it"):
        normalised(tmp_path / "none.zip", "airr")


def test_text_that_ends_within_a_character(tmp_path):
    (tmp_path / "x.txt").write_bytes(text(AIRR, [ALPHA, BETA]).encode("utf-16")[:-1])
    with pytest.raises(InputError, match=r"^x.txt: the text begins as UTF-16 or UTF-32, and ends within"):
        normalised(tmp_path / "x.txt", "airr")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be", "utf-8-sig"])
@pytest.mark.parametrize("before", ["", "sep=\t\n", '"sep=\t"\n'])
def test_text_as_excel_saves_it(encoding, before, tmp_path):
    (tmp_path / "x.txt").write_bytes(
        (before + text(AIRR, [ALPHA, BETA])).replace("\n", "\r\n").encode(encoding)
    )
    assert len(normalised(tmp_path / "x.txt", "airr").cells) == 2
