"""Optional packages, and how to add them."""

from importlib.util import find_spec

from airrvec.core.errors import InputError

# Extra of pyproject.toml → what a run imports of it.
EXTRAS = {"learn": ("lightning", "torch"), "plm": ("torch", "transformers")}


def is_installed(package: str) -> bool:
    """Return whether a package is installed, without importing it."""
    return find_spec(package) is not None


def require_extra(extra: str, purpose: str) -> None:
    """
    Check that the packages of an extra are installed, without importing them.

    Parameters
    ----------
    extra : str
        One of `EXTRAS`.
    purpose : str
        What needs them, as the beginning of a sentence.

    Raises
    ------
    InputError
        If a package is missing, with the command that adds it.
    """
    missing = [package for package in EXTRAS[extra] if not is_installed(package)]
    if missing:
        raise InputError(
            f"{purpose} needs {' and '.join(missing)}, not installed here",
            fix=f"Add the extra: make env EXTRAS={extra} in the folder of the pipeline,"
            f" or pip install 'airrvec[{extra}]'",
        )
