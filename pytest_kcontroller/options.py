"""The plugin's options and ini keys, each declared once, and the values that they give.

Every option can also be set in the ini file, as a default for the project: `--kc-timeout-scale` is `kc_timeout_scale`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TIMEOUT_SCALE_VARIABLE = "KC_TIMEOUT_SCALE"

BACKENDS = ("process", "sim")
KEEPS = ("never", "on-failure", "always")
UNKNOWNS = ("fail", "warn")
REQUIREMENTS = ("java", "toxiproxy", "docker")


@dataclass(frozen=True, slots=True)
class KcSettings:
    """What the options say. `seed` None: each use has its own default; `zookeeper`: `embedded`, `container` or
    HOST:PORT; `zookeeper_image` None: the default one."""

    backend: str
    keep: str
    timeout_scale: float
    seed: int | None
    plugins: tuple[str, ...]
    unknown: str
    zookeeper: str
    zookeeper_image: str | None
    require: tuple[str, ...]
    campaigns: tuple[str, ...]
    rootpath: Path


def _one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return text

    return parse


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.splitlines() for name in part.replace(",", " ").split())


def _requirements(text: str) -> tuple[str, ...]:
    names = _names(text)
    for name in names:
        _one_of(REQUIREMENTS)(name)
    return names


def _scale(text: str) -> float:
    scale = float(text)
    if not 0 < scale < 1000:
        raise ValueError("must be a number above 0")
    return scale


def _zookeeper(text: str) -> str:
    host, _, port = text.rpartition(":")
    if text not in ("embedded", "container") and not (host and port.isdigit()):
        raise ValueError("must be `embedded`, `container` or HOST:PORT")
    return text


@dataclass(frozen=True, slots=True)
class _Option:
    """`parse` raises ValueError with what the value must be."""

    name: str
    default: str
    metavar: str
    parse: Callable[[str], Any]
    help: str

    @property
    def flag(self) -> str:
        return f"--kc-{self.name}"

    @property
    def ini(self) -> str:
        return f"kc_{self.name}".replace("-", "_")

    @property
    def dest(self) -> str:
        return self.ini


OPTIONS = (
    _Option(
        "backend",
        "process",
        "|".join(BACKENDS),
        _one_of(BACKENDS),
        "what clusters are made of: processes, or a simulated world in virtual time (default: process)",
    ),
    _Option(
        "keep",
        "on-failure",
        "|".join(KEEPS),
        _one_of(KEEPS),
        "when histories and logs of kcluster stay in the temporary directory of the test (default: on-failure)",
    ),
    _Option(
        "timeout-scale",
        "",
        "FACTOR",
        _scale,
        f"multiplies every time limit, for slow machines (default: ${TIMEOUT_SCALE_VARIABLE}, else 1)",
    ),
    _Option(
        "seed",
        "",
        "N",
        int,
        "of clusters (default: 0) and of collected campaigns (default: the seeds in each file)",
    ),
    _Option("plugin", "", "MODULES", _names, "modules with selectors and strategies, by import name"),
    _Option(
        "unknown", "fail", "|".join(UNKNOWNS), _one_of(UNKNOWNS), "a campaign whose verdict is unknown (default: fail)"
    ),
    _Option(
        "zookeeper",
        "embedded",
        "embedded|container|HOST:PORT",
        _zookeeper,
        "where ZooKeeper runs: a JVM, a Docker container, or (for the fixtures zookeeper and zk) a server that you "
        "run; kcluster and campaigns always have their own (default: embedded)",
    ),
    _Option("zookeeper-image", "", "IMAGE", str, "of the container (default: zookeeper:3.9)"),
    _Option(
        "require",
        "",
        ",".join(REQUIREMENTS),
        _requirements,
        "what must be there: where it is missing, an error instead of a skip",
    ),
)


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup(
        "kcontroller", "kcontroller: clusters with a ZooKeeper-based controller, and chaos campaigns"
    )
    for option in OPTIONS:
        # argparse formats the help with %: there is none in ours
        if option.name == "plugin":
            group.addoption(option.flag, dest=option.dest, action="append", metavar="MODULE", help=option.help)
            parser.addini("kc_plugins", option.help, type="linelist", default=[])
        else:
            group.addoption(option.flag, dest=option.dest, metavar=option.metavar, help=option.help)
            parser.addini(option.ini, f"the default of {option.flag}", default=option.default)
    parser.addini("kc_campaigns", "campaign files to collect, as globs from the root directory", "linelist", default=[])


def read_settings(config: pytest.Config, environment: Mapping[str, str] = os.environ) -> KcSettings:
    """Raises pytest.UsageError that names the option or the ini key."""
    values = {option.name: _value(config, option, environment) for option in OPTIONS}
    return KcSettings(
        backend=values["backend"],
        keep=values["keep"],
        timeout_scale=values["timeout-scale"],
        seed=values["seed"],
        plugins=values["plugin"],
        unknown=values["unknown"],
        zookeeper=values["zookeeper"],
        zookeeper_image=values["zookeeper-image"] or None,
        require=values["require"],
        campaigns=tuple(config.getini("kc_campaigns")),
        rootpath=config.rootpath,
    )


def _value(config: pytest.Config, option: _Option, environment: Mapping[str, str]) -> Any:
    given = config.getoption(option.dest)
    if option.name == "plugin":
        return _names("\n".join([*config.getini("kc_plugins"), *(given or [])]))
    text, where = (given, option.flag) if given is not None else (config.getini(option.ini), option.ini)
    if option.name == "timeout-scale" and not text:
        text, where = environment.get(TIMEOUT_SCALE_VARIABLE) or "1", TIMEOUT_SCALE_VARIABLE
    if option.name == "seed" and not text:
        return None
    try:
        return option.parse(str(text))
    except ValueError as bad:
        raise pytest.UsageError(f"{where}: {text!r}: {bad}") from None
