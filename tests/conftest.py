"""Shared by all tests. Fixtures of one topic belong into its test file."""

from __future__ import annotations

from hypothesis import settings

pytest_plugins = ["pytester"]

# How long an example takes says how busy the machine is: speed is measured in benchmarks/.
settings.register_profile("kcontroller", deadline=None)
settings.load_profile("kcontroller")
