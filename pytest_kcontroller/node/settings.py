"""What a node is told at its start: one JSON file, written by whoever starts it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.cluster import MOST_LOG_DIRS, MOST_SESSION_MS, Address
from pytest_kcontroller.model.kafka_config import find_wrong
from pytest_kcontroller.runtime.foreign import LIMIT_S
from pytest_kcontroller.zookeeper.connect_string import ConnectString
from pytest_kcontroller.zookeeper.session import CLOSE_GRACE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """`links` maps "<target>/<plane>" (`zookeeper/zk`, `2/control`) to HOST:PORT; a target that is not in it is reached
    by what it registered in ZooKeeper.
    """

    node_id: int
    zookeeper: str
    """HOST:PORT[/chroot]; the host and port of `links["zookeeper/zk"]` win over it."""
    listen: str = "127.0.0.1:0"
    advertise: str | None = None
    """What is registered in /brokers/ids, if it is not the listener's own address."""
    rack: str | None = None
    session_timeout_ms: int = 3000
    selectors: Mapping[str, Any] = field(default_factory=dict)
    """Reason -> name, or {"name": ..., options}. Reasons: offline, reassigned, preferred, controlled_shutdown."""
    assignment: Any = "striped"
    config: Mapping[str, Any] = field(default_factory=dict)
    """Kafka's settings, by Kafka's names (model.kafka_config)."""
    links: Mapping[str, str] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    """Modules to load besides installed plugins, by import name."""
    plugin_limit_s: float = LIMIT_S
    """So long a plugin may take for the answers of one batch, in real time."""
    close_grace_s: float = CLOSE_GRACE_S
    """So long ZooKeeper may take to close the session of a node that ends."""
    mutant: str | None = None
    kafka_compat: tuple[str, ...] = ()
    """Mutants that are Kafka 3.9's own behaviour."""
    seed: int = 0
    directory: str = "."
    """The node's own directory (its disk)."""
    log_dirs: int = 1
    """How many log directories it has there (Kafka: log.dirs); one is that directory itself."""
    history: str | None = None
    """Its history file; None: nothing is recorded."""
    control: str | None = None
    """Path of its control socket (a Unix socket); None: it has none."""
    run_start: str | None = None
    """RunStart.encode(); None: the run starts now."""

    def __post_init__(self) -> None:
        """Raises UsageError that names the key, before anything starts."""
        why = _why_no_servers(self.zookeeper)
        milliseconds = f"a whole number of milliseconds, 1 to {MOST_SESSION_MS}"
        for key, ok, wanted in (
            ("node_id", _whole(self.node_id, 0), "a whole number, 0 or more"),
            ("session_timeout_ms", _whole(self.session_timeout_ms, 1, MOST_SESSION_MS), milliseconds),
            ("seed", _whole(self.seed, None), "a whole number"),
            ("log_dirs", _whole(self.log_dirs, 1, MOST_LOG_DIRS), f"a whole number, 1 to {MOST_LOG_DIRS}"),
            ("zookeeper", why is None, f"HOST:PORT[,HOST:PORT...][/chroot]: {why}"),
            ("listen", _host_port(self.listen), "HOST:PORT"),
            ("advertise", self.advertise is None or _host_port(self.advertise), "HOST:PORT"),
            ("selectors", isinstance(self.selectors, Mapping), "a table: reason -> name"),
            *(
                (key, _seconds(getattr(self, key)), "a number of seconds above 0")
                for key in ("plugin_limit_s", "close_grace_s")
            ),
            ("config", isinstance(self.config, Mapping), "a table"),
            ("links", _links(self.links), 'a table: "<target>/<plane>" -> HOST:PORT'),
            *((key, _texts(getattr(self, key)), "a list of names") for key in ("plugins", "kafka_compat")),
            ("directory", isinstance(self.directory, str), "a text"),
            *(
                (key, isinstance(getattr(self, key), str | None), "a text")
                for key in ("rack", "mutant", "history", "control", "run_start")
            ),
        ):
            if not ok:
                raise UsageError(f"{getattr(self, key)!r} is not {wanted}", where=f"setting `{key}`")
        if (wrong := find_wrong(self.config)) is not None:
            raise UsageError(wrong.what, where=f"setting `config`, {wrong.name}", hint=wrong.hint)

    def link(self, target: str, plane: str) -> Address | None:
        """The proxy in front of `target` on `plane`, or None: go straight."""
        text = self.links.get(f"{target}/{plane}")
        return None if text is None else Address.parse(text)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> NodeSettings:
        """Raises UsageError that names the file and the key."""
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            for names in ("plugins", "kafka_compat"):
                value[names] = tuple(value.get(names, ()))
            return cls(**value)
        except UsageError as bad:
            raise UsageError(bad.what, where=f"{path}: {bad.where}", hint=bad.hint) from None
        except (OSError, ValueError, TypeError, AttributeError) as bad:
            raise UsageError(f"no node settings: {bad}", where=str(path)) from None


def _whole(value: object, least: int | None, most: int | None = None) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return (least is None or value >= least) and (most is None or value <= most)


def _seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _host_port(value: object) -> bool:
    try:
        Address.parse(str(value))
    except ValueError:
        return False
    return isinstance(value, str)


def _why_no_servers(value: object) -> str | None:
    try:
        ConnectString.parse(str(value))
    except ValueError as bad:
        return str(bad)
    return None if isinstance(value, str) else "it is no text"


def _texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _links(value: object) -> bool:
    return isinstance(value, Mapping) and all("/" in str(k) and _host_port(v) for k, v in value.items())
