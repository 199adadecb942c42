"""Addresses as the real server reads, binds and tells them: HOST:PORT by the rules of Go's package net.

One address is one socket: a name is resolved once (IPv4 first), an address of all interfaces takes IPv4 and IPv6, and what
is told is what was bound. Error texts are Go's, since clients compare them.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import socket
from dataclasses import dataclass

BACKLOG = 4096
"""Connections that may wait to be accepted; the kernel takes less if net.core.somaxconn says so. Go takes what it says."""
LOOPBACK = "127.0.0.1"
"""Where a dial without a host goes."""


class AddressError(Exception):
    """The text is no address, or its host or port has no number; in Go's words."""


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """`ip` is None where the text names no host: all interfaces."""

    ip: ipaddress.IPv4Address | ipaddress.IPv6Address | None
    port: int

    def __str__(self) -> str:
        host = "" if self.ip is None else str(self.ip)
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    @property
    def is_wildcard(self) -> bool:
        return self.ip is None or self.ip.is_unspecified


def split_host_port(text: str) -> tuple[str, str]:
    """`[::1%lo]:80` is ("::1%lo", "80"). Raises AddressError."""
    head, colon, port = text.rpartition(":")
    if not colon:
        raise _address_error(text, "missing port in address")
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket:
            raise _address_error(text, "missing ']' in address")
        if rest != f":{port}":
            raise _address_error(
                text, "too many colons in address" if rest.startswith(":") else "missing port in address"
            )
        outside = (host, port)
    elif ":" in head:
        raise _address_error(text, "too many colons in address")
    else:
        host, outside = head, (text, text)
    for bracket, part in zip("[]", outside, strict=True):
        if bracket in part or bracket in port:
            raise _address_error(text, f"unexpected '{bracket}' in address")
    return host, port


def _address_error(text: str, why: str) -> AddressError:
    return AddressError(f"address {text}: {why}")


def port_number(text: str) -> int:
    """A number or the name of a service. Raises AddressError."""
    if re.fullmatch(r"[+-]?[0-9]*", text):
        number = int(text) if text.strip("+-") else 0
        if not 0 <= number <= 65535:
            raise AddressError(f"address {text}: invalid port")
        return number
    try:
        return socket.getservbyname(text.lower(), "tcp")
    except OSError:
        raise AddressError(f"lookup tcp/{text}: unknown port") from None


async def resolve(text: str) -> TcpAddress:
    """Raises AddressError."""
    if not text:
        return TcpAddress(None, 0)
    host, port = split_host_port(text)
    number = port_number(port)
    return TcpAddress(await _resolve_host(host) if host else None, number)


async def _resolve_host(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        return await _look_up(host)
    mapped = literal.ipv4_mapped if isinstance(literal, ipaddress.IPv6Address) else None
    return mapped or literal


async def _look_up(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    unknown = AddressError(f"lookup {host}: no such host")
    if _is_short_ipv4(host):
        raise unknown
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError):  # ValueError: letters that no name can have
        raise unknown from None
    found.sort(key=lambda entry: entry[0] != socket.AF_INET)  # stable: else the order of the system
    return ipaddress.ip_address(found[0][4][0])


def _is_short_ipv4(host: str) -> bool:
    """`127.1` and the like: an address for the C library, a name for Go."""
    try:
        socket.inet_aton(host)
    except (OSError, ValueError):
        return False
    return True


def bind(address: TcpAddress) -> socket.socket:
    """A listening socket. Raises OSError."""
    if address.is_wildcard and socket.has_dualstack_ipv6():
        return _listening(socket.AF_INET6, ("::", address.port), dual_stack=True)
    if address.ip is None:
        return _listening(socket.AF_INET, ("0.0.0.0", address.port))
    if isinstance(address.ip, ipaddress.IPv4Address):
        return _listening(socket.AF_INET, (str(address.ip), address.port))
    scope = socket.if_nametoindex(address.ip.scope_id) if address.ip.scope_id else 0
    plain = str(address.ip).partition("%")[0]
    return _listening(socket.AF_INET6, (plain, address.port, 0, scope))


def _listening(family: int, place: tuple[object, ...], *, dual_stack: bool = False) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0 if dual_stack else 1)
        made.bind(place)
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made


def bound_to(listening: socket.socket) -> str:
    """What a client is told: the address with its number."""
    host, port = listening.getsockname()[:2]
    return str(TcpAddress(ipaddress.ip_address(host), port))


def explain(address: TcpAddress, refused: OSError) -> str:
    """Go's sentence for a `bind` that failed."""
    why = os.strerror(refused.errno) if refused.errno else str(refused)
    return f"listen tcp {address}: bind: {why[:1].lower()}{why[1:]}"


async def dial(text: str, made: type[asyncio.Protocol]) -> asyncio.BaseProtocol:
    """Connects to an upstream; a host of several addresses is tried in their order. Raises OSError, AddressError."""
    host, port = split_host_port(text)
    loop = asyncio.get_running_loop()
    try:
        return (await loop.create_connection(made, host or LOOPBACK, port_number(port)))[1]
    except ValueError as no_name:
        raise AddressError(f"lookup {host}: {no_name}") from None
