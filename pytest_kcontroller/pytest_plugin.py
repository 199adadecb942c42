"""The pytest plugin. Loaded in every pytest run where this distribution is installed: it imports the standard library and
pytest only, and everything else inside the fixtures that need it."""

from __future__ import annotations
