"""What a relay reads of the bytes that pass it."""

from __future__ import annotations

import struct

import pytest

from pytest_kcontroller.cluster.zookeeper.handshake import Granted, Handshake, Refused

PASSWORD = bytes(range(16))
GRANTED = Granted(session_id=0x8000_0000_0000_00FE, password=PASSWORD, timeout_ms=3000)


def answer(timeout_ms: int, session_id: int, *, read_only: bytes = b"\0") -> bytes:
    body = struct.pack(">iiQi", 0, timeout_ms, session_id, len(PASSWORD)) + PASSWORD + read_only
    return struct.pack(">i", len(body)) + body


def test_an_answer_with_a_timeout_grants_the_session() -> None:
    assert Handshake().hear(answer(3000, GRANTED.session_id)) == GRANTED


def test_servers_before_3_4_have_no_read_only_flag() -> None:
    assert Handshake().hear(answer(3000, GRANTED.session_id, read_only=b"")) == GRANTED


def test_an_answer_without_a_timeout_refuses_it() -> None:
    assert Handshake().hear(answer(0, 0)) == Refused()


@pytest.mark.parametrize("size", [1, 3, 4, 5, 40])
def test_it_is_said_with_the_chunk_that_completes_it(size: int) -> None:
    data, handshake = answer(3000, GRANTED.session_id), Handshake()
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    assert [handshake.hear(chunk) for chunk in chunks] == [None] * (len(chunks) - 1) + [GRANTED]


def test_what_follows_the_answer_is_not_read() -> None:
    handshake = Handshake()
    assert handshake.hear(answer(3000, GRANTED.session_id) + answer(4000, 5)) == GRANTED
    assert handshake.hear(answer(4000, 5)) is None


@pytest.mark.parametrize("text", [b"Zookeeper version: 3.9.3", b"imok", b"\0\0\0\1"])
def test_the_answer_to_a_four_letter_word_is_no_handshake(text: bytes) -> None:
    handshake = Handshake()
    assert handshake.hear(text) is None
    assert handshake.hear(answer(3000, GRANTED.session_id)) is None
