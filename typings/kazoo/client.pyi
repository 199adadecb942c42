import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.states import KazooState as KazooState
from kazoo.protocol.states import WatchedEvent, ZnodeStat
from kazoo.retry import KazooRetry
from kazoo.security import ACL

_Watch = Callable[[WatchedEvent], object] | None

class KazooClient:
    logger: logging.Logger
    handler: SequentialThreadingHandler
    chroot: str
    state: str
    retry: KazooRetry

    # what kazoo_session.py and sim_kazoo.py build upon
    _state: str
    _live: threading.Event
    _session_id: int | None
    _session_passwd: bytes
    _session_timeout: int
    _connection: ConnectionHandler
    _conn_retry: KazooRetry
    _stopped: threading.Event
    last_zxid: int
    # a request and what is completed with its answer, or with nothing (a close)
    _queue: deque[tuple[Any, Any]]
    _pending: deque[tuple[Any, Any, int]]

    def __init__(
        self,
        hosts: str = ...,
        timeout: float = ...,
        client_id: tuple[int, bytes] | None = ...,
        handler: SequentialThreadingHandler | None = ...,
        *,
        connection_retry: KazooRetry | None = ...,
        command_retry: KazooRetry | None = ...,
        logger: logging.Logger | None = ...,
        default_acl: Sequence[ACL] | None = ...,
        auth_data: Sequence[tuple[str, str]] | None = ...,
        sasl_options: dict[str, str] | None = ...,
    ) -> None: ...
    def _notify_pending(self, state: str) -> None: ...
    def _session_callback(self, state: str) -> None: ...
    def _call(self, request: Any, async_object: Any) -> bool | None: ...
    @property
    def client_id(self) -> tuple[int, bytes] | None: ...
    @property
    def client_state(self) -> str: ...
    @property
    def connected(self) -> bool: ...
    def add_listener(self, listener: Callable[[str], object]) -> None: ...
    def remove_listener(self, listener: Callable[[str], object]) -> None: ...
    def start(self, timeout: float = ...) -> None: ...
    def start_async(self) -> threading.Event: ...
    def stop(self) -> None: ...
    def close(self) -> None: ...
    def command(self, cmd: bytes = ...) -> str: ...
    def unchroot(self, path: str) -> str: ...
    def ensure_path(self, path: str) -> bool: ...
    def create(
        self,
        path: str,
        value: bytes = ...,
        acl: Sequence[ACL] | None = ...,
        ephemeral: bool = ...,
        sequence: bool = ...,
        makepath: bool = ...,
    ) -> str: ...
    def exists(self, path: str, watch: _Watch = ...) -> ZnodeStat | None: ...
    def sync(self, path: str) -> str: ...
    def get(self, path: str, watch: _Watch = ...) -> tuple[bytes, ZnodeStat]: ...
    def get_children(self, path: str, watch: _Watch = ...) -> list[str]: ...
    def set(self, path: str, value: bytes, version: int = ...) -> ZnodeStat: ...
    def add_auth(self, scheme: str, credential: str) -> bool: ...
    def delete(self, path: str, version: int = ..., recursive: bool = ...) -> bool | None: ...
