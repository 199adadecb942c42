"""The chaos engine: from a campaign file and a seed to a verdict.

Public, for authors of faults and invariants (docs/extending.md), and for tests: `checking`, `injection`, `feed`, and what
`faults`, `invariants`, `history` and `znode_invariants` say is public of them; all else may move.
"""
