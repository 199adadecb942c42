"""Frozen values that every layer shares. Nothing here does I/O or imports anything of ours."""
