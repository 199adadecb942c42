"""How large a cluster can be, whoever asks for it: a campaign file, a marker or a command line."""

from __future__ import annotations

MOST_NODES = 200
"""Each has an address of its own on loopback: 127.plane.source.target."""
LONGEST_SESSION_MS = 60_000
"""What our ZooKeepers are set up to grant at most; of a longer one nobody would be told."""
