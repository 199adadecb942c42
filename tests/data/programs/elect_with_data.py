"""elect.py, as a service runs it that has another client for its data, which connects last."""

import sys

import elect
from kazoo.client import KazooClient


class Electing(KazooClient):
    def __init__(self, zookeeper: str, timeout: float) -> None:
        super().__init__(zookeeper, timeout=timeout)
        self.of_data = KazooClient(zookeeper, timeout=timeout)

    def start(self, timeout: float = 15) -> None:
        super().start(timeout)
        self.of_data.start(timeout)


if __name__ == "__main__":
    elect.KazooClient = Electing
    elect.main(*sys.argv[1:])
