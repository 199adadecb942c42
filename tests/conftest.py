"""Shared by all tests. Fixtures of one topic belong into its test file."""

from __future__ import annotations

pytest_plugins = ["pytester"]
