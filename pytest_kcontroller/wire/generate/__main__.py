"""Writes wire/messages/ anew."""

from __future__ import annotations

from pathlib import Path

from pytest_kcontroller.wire.generate.modules import modules
from pytest_kcontroller.wire.generate.schema import load_schemas

MESSAGES = Path(__file__).parents[1] / "messages"


def main() -> None:
    MESSAGES.mkdir(exist_ok=True)
    files = modules(load_schemas())
    for path in sorted(MESSAGES.glob("*.py")):
        if path.name not in files:
            path.unlink()
    for name, source in files.items():
        (MESSAGES / name).write_text(source, encoding="utf-8")
    print(f"{len(files)} files in {MESSAGES}")


if __name__ == "__main__":
    main()
