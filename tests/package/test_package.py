"""What wheel and sdist hold."""

import re
import tarfile
import zipfile
from email.parser import BytesParser

import pytest

from conftest import PROJECT, ROOT, uv

LIBRARY = ROOT / "bin/airrvec"


@pytest.fixture(scope="module")
def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return BytesParser().parsebytes(archive.read(name))


def test_the_wheel_holds_the_library_and_what_the_command_runs(wheel):
    named = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    expected = {
        f"airrvec/{path.relative_to(LIBRARY)}": path
        for path in LIBRARY.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    for source, target in named.items():
        path = ROOT / source
        files = [path] if path.is_file() else path.iterdir()
        expected |= {f"{target}/{file.name}" if path.is_dir() else target: file for file in files}
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
    assert held.keys() == expected.keys()
    assert [name for name, path in expected.items() if held[name] != path.read_bytes()] == []
    assert {"airrvec/py.typed", "airrvec/model/published/LICENSE.txt"} <= held.keys()
    assert sum(name.endswith("model.safetensors") for name in held) == 16


def test_the_sdist_builds_the_same_wheel(dist, wheel, tmp_path):
    """The wheel of `uv build` comes from the sdist; this one comes from the checkout."""
    uv("build", "--wheel", "--out-dir", tmp_path)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        names = [name.split("/", 1)[1] for name in archive.getnames()]
    folders = {name.split("/")[0] for name in names if "/" in name}
    assert folders == {"bin", "conf"}
    assert [name for name in names if "__pycache__" in name] == []


def test_the_description_stands_without_the_repository(metadata):
    text = metadata.get_payload(decode=True).decode()
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert [link for link in links if not link.startswith("https://")] == []
    home = PROJECT["project"]["urls"]["Homepage"]
    files = re.findall(rf"\]\({home}/(raw|blob)/main/([^)\s#]+)", text)
    assert len(files) > 10
    assert [path for _, path in files if not (ROOT / path).exists()] == []
    assert [path for kind, path in files if (kind == "raw") != path.endswith(".png")] == []


def test_the_metadata_name_home_and_licences(metadata):
    manifest = (ROOT / "nextflow.config").read_text()
    home = re.search(r"homePage +(?:=) '(.*)'", manifest).group(1)
    urls = dict(line.split(", ") for line in metadata.get_all("Project-URL"))
    assert urls["Homepage"] == home
    assert all(url.startswith(home) for url in urls.values())
    assert metadata["License-Expression"] == "MIT"
    assert len(metadata.get_all("License-File")) == 3
