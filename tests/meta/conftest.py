"""What the rules are made of is importable: tests/tools/generated.py, and rules.py and set_iteration.py here."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]
