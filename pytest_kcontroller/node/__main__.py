"""`python -m pytest_kcontroller.node SETTINGS.json`: one node in the foreground."""

from __future__ import annotations

import sys

from pytest_kcontroller.node.process import command

if __name__ == "__main__":
    sys.exit(command(sys.argv[1:]))
