"""What a run leaves: its directory, its events, ZooKeeper's transaction log.

Public: `History`, `read_history` and `Event`, for invariants and their tests.
"""

from kcontroller_chaos.history.read import Event, History, read_history

__all__ = ["Event", "History", "read_history"]
