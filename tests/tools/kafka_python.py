"""kafka-python, whose loader calls what Python 3.11 and 3.12 call deprecated."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pytest_kcontroller.cluster.timing import scaled

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import KafkaAdminClient, TopicPartition
    from kafka.admin import ConfigResource, NewPartitions, NewTopic

__all__ = [
    "AdminClient",
    "ConfigResource",
    "NewPartitions",
    "NewTopic",
    "TopicPartition",
    "admin_client",
]

AdminClient = Any

BOOTSTRAP_S = 30.0
"""Two by default: too few for a busy machine."""


@contextmanager
def admin_client(servers: str) -> Iterator[AdminClient]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        client = KafkaAdminClient(
            bootstrap_servers=servers.split(","), bootstrap_timeout_ms=round(scaled(BOOTSTRAP_S) * 1000)
        )
        try:
            yield client
        finally:
            client.close()
