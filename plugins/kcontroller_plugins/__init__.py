"""Part of pytest-kcontroller (ARCHITECTURE.md)."""
