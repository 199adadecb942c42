"""Which toxiproxy server proxies are on. Light: options are checked with it.

KCONTROLLER_TOXIPROXY says it:

    http://HOST:PORT      that one; KCONTROLLER_TOXIPROXY_URL means the same
    path                  `toxiproxy-server` from the path
    container[=IMAGE]     one in a container, with the network of this machine
    embedded              this package's own
    (nothing)             `toxiproxy-server` if it is on the path, else the embedded one
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from pytest_kcontroller.errors import UsageError

CHOICE = "KCONTROLLER_TOXIPROXY"
URL = "KCONTROLLER_TOXIPROXY_URL"
OPTION = f"--kc-toxiproxy or ${CHOICE}"
"""What a person says."""
BINARY = "toxiproxy-server"
IMAGE = "ghcr.io/shopify/toxiproxy:2.12.0"
"""Docker Hub has none that is newer than 2.1.4."""


@dataclass(frozen=True, slots=True)
class Choice:
    """`what`: the URL, the binary, the image, or nothing."""

    kind: Literal["url", "path", "container", "embedded"]
    what: str = ""


def parse_choice(text: str) -> Choice:
    """Raises ValueError: what it must be."""
    kind, _, image = text.partition("=")
    if kind == "container":
        return Choice("container", image or IMAGE)
    if text == "embedded":
        return Choice("embedded")
    if text == "path":
        return Choice("path", shutil.which(BINARY) or BINARY)
    if not text:
        return Choice("path", binary) if (binary := shutil.which(BINARY)) is not None else Choice("embedded")
    if urlsplit(text).scheme in ("http", "https") and urlsplit(text).hostname:
        return Choice("url", text.rstrip("/"))
    raise ValueError("must be embedded, path, container, container=IMAGE or http://HOST:PORT")


def shown(url: str) -> str:
    """For others to read: without a password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if parts.netloc else url


def chosen() -> Choice:
    """Raises UsageError."""
    for name in (CHOICE, URL):
        if text := os.environ.get(name):
            try:
                return parse_choice(text)
            except ValueError as bad:
                raise UsageError(f"{text!r}: {bad}", where=f"${name}") from None
    return parse_choice("")
