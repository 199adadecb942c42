# Generated from wire/schemas by `make generated`: edit those.
"""ControlledShutdownRequest of API 7."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from pytest_kcontroller.wire.message import Layout, Request, Write
from pytest_kcontroller.wire.messages.controlled_shutdown_response import ControlledShutdownResponse
from pytest_kcontroller.wire.primitives import skip_tagged_fields

_i = Struct(">i")
_iq = Struct(">iq")
_iqB = Struct(">iqB")


@dataclass(slots=True, kw_only=True)
class ControlledShutdownRequest(Request[ControlledShutdownResponse]):
    """Broker to controller: I am about to stop."""

    API_KEY = 7
    broker_id: int
    broker_epoch: int = -1


def _encode_controlled_shutdown_request_v0(m: ControlledShutdownRequest, write: Write) -> None:
    write(_i.pack(m.broker_id))


def _decode_controlled_shutdown_request_v0(data: bytes, at: int) -> tuple[ControlledShutdownRequest, int]:
    m = object.__new__(ControlledShutdownRequest)
    m.broker_epoch = -1
    (m.broker_id,) = _i.unpack_from(data, at)
    at += 4
    return m, at


def _encode_controlled_shutdown_request_v2(m: ControlledShutdownRequest, write: Write) -> None:
    write(_iq.pack(m.broker_id, m.broker_epoch))


def _decode_controlled_shutdown_request_v2(data: bytes, at: int) -> tuple[ControlledShutdownRequest, int]:
    m = object.__new__(ControlledShutdownRequest)
    m.broker_id, m.broker_epoch = _iq.unpack_from(data, at)
    at += 12
    return m, at


def _encode_controlled_shutdown_request_v3(m: ControlledShutdownRequest, write: Write) -> None:
    write(_iqB.pack(m.broker_id, m.broker_epoch, 0))


def _decode_controlled_shutdown_request_v3(data: bytes, at: int) -> tuple[ControlledShutdownRequest, int]:
    m = object.__new__(ControlledShutdownRequest)
    m.broker_id, m.broker_epoch, tags = _iqB.unpack_from(data, at)
    at = at + 13 if tags == 0 else skip_tagged_fields(data, at + 12)
    return m, at


ControlledShutdownRequest.LAYOUTS = {
    0: Layout(_encode_controlled_shutdown_request_v0, _decode_controlled_shutdown_request_v0),
    1: Layout(_encode_controlled_shutdown_request_v0, _decode_controlled_shutdown_request_v0),
    2: Layout(_encode_controlled_shutdown_request_v2, _decode_controlled_shutdown_request_v2),
    3: Layout(_encode_controlled_shutdown_request_v3, _decode_controlled_shutdown_request_v3),
}
