"""The HTTP API of one toxiproxy server, for us: with a time limit, and errors that are raised."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from pytest_kcontroller.cluster.process.proxy_choice import shown
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentFailure, MissingExtraError

HTTP_S = 10.0
"""A request to the proxy server; the real one answers when a toxic is in effect, and hangs when it cannot be."""


class ToxiproxyRefusal(EnvironmentFailure):
    """The server answered with an error. `status` is HTTP's; `said` its own words."""

    def __init__(self, status: int, body: str, *, where: str) -> None:
        self.status, self.said = status, body
        with contextlib.suppress(ValueError, LookupError, TypeError):
            self.said = str(json.loads(body)["error"])
        super().__init__(f"toxiproxy: {body}", where=where)


class NoToxiproxyError(EnvironmentFailure):
    """Something answered that is no toxiproxy, or one that is too old."""


class ToxiproxyClient:
    """One toxiproxy server's HTTP API. toxiproxy-python keeps the server's address in its classes, so two servers in one
    process are impossible with it, and its calls have no time limit."""

    def __init__(self, url: str) -> None:
        """Raises MissingExtraError."""
        try:
            import requests
        except ImportError:
            raise MissingExtraError("the proxies between nodes", "toxiproxy") from None
        self.url, self._broken = url.rstrip("/"), requests.RequestException
        self.shown = shown(self.url)
        """What messages and logs say."""
        self._http = requests.Session()
        self._http.trust_env = False  # a proxy of the environment is not for the loopback

    def call(self, method: str, path: str, body: object | None = None) -> Any:
        """The decoded answer, None for an empty one. Raises ToxiproxyRefusal; NoToxiproxyError; EnvironmentFailure: there is
        none."""
        try:
            answer = self._http.request(method, self.url + path, json=body, timeout=scaled(HTTP_S))
        except self._broken as broken:
            raise EnvironmentFailure(
                f"no answer from toxiproxy: {broken}", where=f"{method} {self.shown}{path}"
            ) from None
        if answer.status_code >= 400:
            raise ToxiproxyRefusal(answer.status_code, answer.text.strip(), where=f"{method} {self.shown}{path}")
        try:
            return answer.json() if answer.content else None
        except ValueError:
            what = f"this is no toxiproxy of 2.7 or newer; it said {answer.text[:80]!r}"
            raise NoToxiproxyError(what, where=f"{method} {self.shown}{path}") from None

    def close(self) -> None:
        self._http.close()
