"""Topic ids: 16 bytes on the wire, unpadded URL-safe base64 in a topic's znode."""

from __future__ import annotations

import base64
from functools import lru_cache

_REMEMBERED = 4096
"""Each comes again in every message about its topic."""

ZERO_TOPIC_ID = bytes(16)
"""On the wire: this topic has no id."""


@lru_cache(maxsize=_REMEMBERED)
def topic_uuid(topic_id: str | None) -> bytes:
    """The wire's form of a topic znode's id. Raises ValueError."""
    if topic_id is None:
        return ZERO_TOPIC_ID
    uuid = base64.urlsafe_b64decode(topic_id + "=" * (-len(topic_id) % 4))
    if len(uuid) != len(ZERO_TOPIC_ID):
        raise ValueError(f"{topic_id!r} is no topic id: it has {len(uuid)} bytes")
    return uuid


@lru_cache(maxsize=_REMEMBERED)
def topic_id_text(topic_id: bytes) -> str | None:
    """The topic znode's form of a topic id; None for the zero id."""
    if topic_id == ZERO_TOPIC_ID:
        return None
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()
