"""Frozen values that every layer shares, and long work in turns. Nothing here does I/O or imports anything of ours."""
