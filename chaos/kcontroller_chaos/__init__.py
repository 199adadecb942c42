"""The chaos engine: from a campaign file and a seed to a verdict.

Public, for authors of faults and invariants (docs/extending.md): `checking`, `injection`, `feed`, `faults.Fault`; all else
may move.
"""
