from collections.abc import Callable
from typing import Any, Final, NamedTuple

# Their members are texts, and what kazoo hands out is such a text.
class KazooState:
    SUSPENDED: Final = "SUSPENDED"
    CONNECTED: Final = "CONNECTED"
    LOST: Final = "LOST"

class KeeperState:
    AUTH_FAILED: Final = "AUTH_FAILED"
    CONNECTED: Final = "CONNECTED"
    CONNECTED_RO: Final = "CONNECTED_RO"
    CONNECTING: Final = "CONNECTING"
    CLOSED: Final = "CLOSED"
    EXPIRED_SESSION: Final = "EXPIRED_SESSION"

class EventType:
    CREATED: Final = "CREATED"
    DELETED: Final = "DELETED"
    CHANGED: Final = "CHANGED"
    CHILD: Final = "CHILD"
    NONE: Final = "NONE"

class WatchedEvent(NamedTuple):
    type: str
    state: str
    path: str

class Callback(NamedTuple):
    type: str
    func: Callable[..., object]
    args: tuple[Any, ...]

class ZnodeStat(NamedTuple):
    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeralOwner: int
    dataLength: int
    numChildren: int
    pzxid: int
