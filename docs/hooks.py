"""
Hooks of MkDocs: pages of the library's packages, and a check that the site loads nothing from the network.

A warning is an error under ``mkdocs build --strict``.
"""

import logging
import re
import tomllib
from pathlib import Path

from mkdocs.structure.files import File

_LOG = logging.getLogger("mkdocs.hooks")
_ROOT = Path(__file__).parents[1]
_ASSET = re.compile(r"<(?:img|script|iframe|source|video)\b[^>]*\ssrc=\"?(?:https?:)?//[^\s\">]+")
_STYLE = re.compile(r"<link\b(?![^>]*rel=\"?canonical)[^>]*\shref=\"?(?:https?:)?//[^\s\">]+")


def _packages() -> list[str]:
    """Return the packages in the order of imports, the first imports none of the others."""
    contracts = tomllib.loads((_ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return next(contract["layers"] for contract in contracts if contract["type"] == "layers")[::-1]


def on_config(config):
    """Put a page of each package into the navigation."""
    developing = next(part["Developing"] for part in config.nav if "Developing" in part)
    library = next(part for part in developing if "Library" in part)
    library["Library"] = [{name: f"library/{name}.md"} for name in _packages()]
    return config


def on_files(files, config):
    """Write a page of each package: its docstrings."""
    for name in _packages():
        files.append(File.generated(config, f"library/{name}.md", content=f"# {name}\n\n::: {name}\n"))
    return files


def on_post_page(output, page, config):
    """Warn of images, scripts and styles that a browser would fetch from the network."""
    for asset in (*_ASSET.findall(output), *_STYLE.findall(output)):
        _LOG.warning("%s loads from the network: %s", page.file.src_path, asset)
