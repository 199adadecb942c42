"""/latest_producer_id_block: the last block of producer ids that a broker was given (kafka.zk.ProducerIdBlockZNode, 3.9)."""

from __future__ import annotations

from pytest_kcontroller.zookeeper.znodes import CorruptZnodeError, json_bytes, json_object

LATEST_PRODUCER_ID_BLOCK = "/latest_producer_id_block"
BLOCK = 1000
"""So many ids a broker gets at once (ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE)."""
LAST_ID = 2**63 - 1


def encode_block(broker: int, start: int) -> bytes:
    """The numbers are texts."""
    return json_bytes({"version": 1, "broker": broker, "block_start": str(start), "block_end": str(start + BLOCK - 1)})


def next_start(data: bytes) -> int:
    """Where the block begins that follows the one in `data`; of nothing, the first. Raises CorruptZnodeError."""
    if not data:
        return 0
    try:
        end = int(json_object(data, LATEST_PRODUCER_ID_BLOCK)["block_end"])
    except (KeyError, TypeError, ValueError) as bad:
        raise CorruptZnodeError(LATEST_PRODUCER_ID_BLOCK, data, f"names no block of ids ({bad!r})") from None
    if not -1 <= end <= LAST_ID - BLOCK:
        raise CorruptZnodeError(LATEST_PRODUCER_ID_BLOCK, data, "leaves no block of ids")
    return end + 1
