"""Topic ids as text and as bytes."""

from __future__ import annotations

import pytest

from pytest_kcontroller.wire.topic_ids import ZERO_TOPIC_ID, topic_id_text, topic_uuid


def test_topic_ids_cross_both_ways() -> None:
    text = "ru_Gs0Q_SsOxgBIhNEHTCw"
    assert topic_id_text(topic_uuid(text)) == text
    assert topic_uuid(None) == ZERO_TOPIC_ID
    assert topic_id_text(ZERO_TOPIC_ID) is None


def test_what_has_not_16_bytes_is_no_topic_id() -> None:
    with pytest.raises(ValueError, match="has 3 bytes"):
        topic_uuid("abcd")
