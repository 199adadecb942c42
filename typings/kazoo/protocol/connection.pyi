import logging
import socket
from typing import Any

from kazoo.client import KazooClient
from kazoo.retry import KazooRetry

class ConnectionHandler:
    client: KazooClient
    # None before the first connection and after the last
    _socket: socket.socket | None
    _write_sock: socket.socket | None

    def __init__(
        self,
        client: KazooClient,
        retry_sleeper: KazooRetry,
        logger: logging.Logger | logging.LoggerAdapter[Any] | None = ...,
    ) -> None: ...
    def zk_loop(self) -> None: ...
    def _send_request(self, read_timeout: float, connect_timeout: float) -> None: ...
    def _invoke(self, timeout: float, request: Any, xid: int | None = ...) -> Any: ...
