"""The image of the nodes: a base with Python, and what contents.py says. Built once for each base and content."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tarfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from pytest_kcontroller.cluster.contained import BASE_VARIABLE
from pytest_kcontroller.cluster.contained.contents import Files, others, ours, with_compiled
from pytest_kcontroller.cluster.docker.containers import engine
from pytest_kcontroller.errors import EnvironmentFailure

T = TypeVar("T")

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
BASE = f"python:{PYTHON}-slim"
REPOSITORY = "kcontroller-node"
LABEL = "kcontroller.node"
PLACE = "/opt/kcontroller"
BUILD_S = 600
KEPT, KEPT_FOR = 8, timedelta(hours=2)
"""So many images, and so long after their last use: others on this machine may have them, and start more nodes of them."""

_NEVER = "0001-01-01T00:00:00Z"

_SAME_PYTHON = (
    "import sys; here = '%d.%d' % sys.version_info[:2]; "
    f"here == '{PYTHON}' or sys.exit(f'the base has Python {{here}}, and this is {PYTHON}')"
)
"""Before anything is copied: a build that fails keeps what it has made so far, as an image without a name."""

_COMPILE = (
    f"import compileall; compileall.compile_dir('{PLACE}', quiet=1); "
    "import pytest_kcontroller.node.process, pytest_kcontroller.cluster.toxiproxy.api"
)
"""What was not compiled here is compiled once for all nodes."""


def base() -> str:
    return os.environ.get(BASE_VARIABLE) or BASE


def node_image(plugins: Sequence[str]) -> str:
    """Its name; built, if it is not there. Takes seconds then, and blocks.

    Raises UsageError, EnvironmentFailure: there is no engine, or it cannot be built.
    """
    layers = [("others", with_compiled(others(plugins))), ("ours", with_compiled(ours()))]
    with engine() as client:
        name = image_name(client, layers)
        if not use_again(client, name):
            _build(client, name, layers)
            _remove_old(client, name)
    return name


def use_again(client: Any, name: str) -> bool:
    """Whether it is there. Named once more it counts as used now, where the engine keeps the time of that: none has that of
    a start, and one with containerd's image store has neither."""
    from docker.errors import APIError, NotFound

    repository, _, tag = name.rpartition(":")
    try:
        return bool(client.api.tag(name, repository, tag))
    except NotFound:
        return False
    except APIError:  # not everybody who may start containers may name images
        return bool(client.images.list(name=name))


def image_name(client: Any, layers: Sequence[tuple[str, Files]]) -> str:
    """By all that makes it what it is. Raises EnvironmentFailure: the base is not there and cannot be had."""
    digest = hashlib.sha256(f"{_base_id(client)} {PYTHON} {_dockerfile()}".encode())
    for _, files in layers:
        for name, path in sorted(files.items()):
            if "__pycache__" not in name:
                state = path.stat()
                digest.update(f"{name} {state.st_size} {state.st_mtime_ns}\n".encode())
    return f"{REPOSITORY}:{digest.hexdigest()[:16]}"


def _base_id(client: Any) -> str:
    """What its name means now: a base may be built anew under the same one."""
    from docker.errors import APIError, ImageNotFound

    try:
        try:
            return str(client.images.get(base()).id)
        except ImageNotFound:
            return str(client.images.pull(base()).id)
    except (APIError, OSError) as refused:
        raise _unbuilt(refused, []) from None


def _dockerfile() -> str:
    """What changes rarely comes first: the engine keeps layers."""
    return "\n".join(
        [
            f"FROM {base()}",
            f"RUN {json.dumps(['python3', '-c', _SAME_PYTHON])}",
            f"LABEL {LABEL}=",
            f"ENV PYTHONPATH={PLACE} PYTHONUNBUFFERED=1",
            f"COPY others {PLACE}",
            f"COPY ours {PLACE}",
            f"RUN {json.dumps(['python3', '-c', _COMPILE])}",
            "",
        ]
    )


def _build(client: Any, name: str, layers: Sequence[tuple[str, Files]]) -> None:
    from docker.errors import APIError

    said: list[str] = []
    try:
        steps = client.api.build(
            fileobj=_context(layers),
            custom_context=True,
            tag=name,
            rm=True,
            forcerm=True,
            network_mode="none",
            timeout=BUILD_S,
            decode=True,
        )
        for step in steps:
            said.append(str(step.get("stream", "")).strip())
            if "error" in step:
                raise _unbuilt(step["error"], said)
    except (APIError, OSError) as refused:  # the second: the engine does not answer any more
        raise _unbuilt(refused, said) from None


def _remove_old(client: Any, name: str) -> None:
    """Each change of what is installed makes a new one. What a container has stays, as does `name`, which was just built.
    Others may be doing the same: what cannot be removed is theirs, and no start fails for it."""
    from docker.errors import APIError

    with suppress(APIError, OSError):
        in_use = {container.attrs["ImageID"] for container in client.containers.list(all=True, sparse=True)}
        found = client.images.list(filters={"label": LABEL})
        for image in unused({image: last_used(image.attrs) for image in found}):
            if image.id not in in_use and not any(tag.endswith(name) for tag in image.tags):
                for tag in image.tags or [image.id]:
                    with suppress(APIError):
                        client.images.remove(tag)


def last_used(attributes: Mapping[str, Any]) -> datetime:
    """Of what an engine says of an image: when it was named last, or made, if it knows no more."""
    times = ((attributes.get("Metadata") or {}).get("LastTagTime"), attributes.get("Created"), _NEVER)
    return max(datetime.fromisoformat(time) for time in times if time)


def unused(used: Mapping[T, datetime]) -> list[T]:
    """By when each was used last, as the engine's clock has it: the newest one is of now."""
    newest_first = sorted(used, key=used.__getitem__, reverse=True)
    return [image for image in newest_first[KEPT:] if used[newest_first[0]] - used[image] > KEPT_FOR]


_HINT = (
    f"the base needs Python {PYTHON} as python3 and the libraries of this machine's architecture; another one is named with "
    f"${BASE_VARIABLE}, or pytest's --kc-node-base. Proxies and relays are in this image too, also where nodes are in yours"
)


def _unbuilt(error: object, said: Sequence[str]) -> EnvironmentFailure:
    why = str(getattr(error, "explanation", None) or error).strip()
    what = "\n".join([f"the nodes' image cannot be built: {why}", *list(filter(None, said))[-5:]])
    return EnvironmentFailure(what, where=base(), hint=_HINT)


def _context(layers: Sequence[tuple[str, Mapping[str, Path]]]) -> io.BytesIO:
    """What the engine is sent; times stay, since Python knows by them what it has compiled."""
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w", dereference=True) as tar:  # some installers make links to their cache
        text = _dockerfile().encode()
        info = tarfile.TarInfo("Dockerfile")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
        for layer, files in layers:
            for name, path in sorted(files.items()):
                tar.add(path, f"{layer}/{name}", recursive=False, filter=_everybodys)
    context.seek(0)
    return context


def _everybodys(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Nodes run as whoever runs the harness."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode = 0o644
    return info
