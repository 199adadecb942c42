"""Shared by all tests. Fixtures of one topic belong into its test file."""

from __future__ import annotations

import signal

from hypothesis import settings

pytest_plugins = ["pytester"]

# How long an example takes says how busy the machine is: speed is measured in benchmarks/.
settings.register_profile("kcontroller", deadline=None)
settings.load_profile("kcontroller")

# A suite in the background of a shell has SIGINT ignored, and so would have what its tests start and interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
