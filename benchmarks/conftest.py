"""Slow benchmarks take turns in `make check`, as the other tests."""

from turns import pytest_collection_modifyitems  # noqa: F401
