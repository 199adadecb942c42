"""A program of the user's that a cluster has as its nodes: how each is started, when it is ready, how it is asked to end."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_kcontroller.cluster.capabilities import CONTAINERS, OF_PROGRAMS, PEERS, Capability
from pytest_kcontroller.errors import UsageError
from pytest_kcontroller.model.suggestions import nearest

PLACES: Mapping[str, str] = {
    "zk": "HOST:PORT of ZooKeeper, over the node's own link; of several servers, with commas between",
    "id": "the node's id, from 0",
    "port": "a port of its own on 127.0.0.1, to listen on; in a container it is everybody's, on the container's own address",
    "peers": "0=HOST:PORT,1=HOST:PORT,... of all nodes, each over the node's own link to it; of itself, where it listens",
    "peer:N": "HOST:PORT of node N alone, as `{peers}` has it",
    "dir": "a directory of its own, which is there again after a restart",
    "python": "the Python that kcontroller, or pytest, runs with; in a container `python3`",
    "session_timeout_ms": "that of the cluster, to ask ZooKeeper for",
}
"""What is filled in, in the command, the environment and the readiness."""
OF_OUR_NODES = ("log_dirs", "assignment", "selectors", "plugin_limit_s", "kafka_compat", "mutant", "config")
"""What a cluster of our own nodes is told, and one of programs cannot be."""
NO_PEERS = "name {peers} in its command or env"
"""What to do where a program has no links between its nodes."""
READY: Mapping[str, str] = {
    "session": "it has a ZooKeeper session",
    "znode": "a znode is there; an ephemeral whose path has {id} in it must be of a session of the node's own",
    "port": "something listens on its {port}",
    "log": "it has printed a line with this text",
}
SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
READY_S, STOP_S = 30.0, 10.0
NO_NUL = "which no process can be given"

SHELLS = ("sh", "bash", "dash", "zsh")
_VARIABLE = re.compile(r"\$\{?[A-Za-z_]\w*\}?|^~(?=/|$)")
_PLACE = re.compile(r"\{\{([a-z_]+|peer:\d+)\}\}|\{([a-z_]+|peer:\d+)\}")
_UNCLOSED = re.compile(rf"\{{({'|'.join(name for name in PLACES if name != 'peer:N')}|peer:\d+)\b(?=[^{{}}]*(?:\{{|$))")
"""The beginning of a place, with no brace behind it that ends it."""
_OF_A_SHELL = re.compile(r"[|&;]|\|\||&&|\|&|;;|\d*[<>].*|&>.*", re.DOTALL)
"""A word that would be none of the program's."""
SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".sh", ".jar")


class WrongProgramError(UsageError):
    """`key`: the one of Program that is wrong."""

    def __init__(self, key: str, what: str, hint: str) -> None:
        self.key = key
        super().__init__(what, where=f"`{key}`", hint=hint)


@dataclass(frozen=True, slots=True)
class Ready:
    """One of READY, and what it is about: a path, a text."""

    kind: str
    about: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.about}" if self.about else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Texts have the names of PLACES in braces. `command` is executed, by no shell, in `directory` (default: the current
    one); with `image` both are in the place of the image's own, and each node is a container. It is ready within `ready_s`,
    and has ended `stop_s` after `stop_signal`, unscaled."""

    command: tuple[str, ...]
    image: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    directory: str = ""
    ready: Ready = field(default_factory=lambda: Ready("session"))
    ready_s: float = READY_S
    stop_signal: str = "SIGTERM"
    stop_s: float = STOP_S
    respawn: bool = False
    """Started again when it ends by itself, as systemd and Kubernetes do."""

    @property
    def signal(self) -> signal.Signals:
        return signal.Signals[self.stop_signal]

    @property
    def described(self) -> dict[str, object]:
        """For run.json. The values of the environment may be secrets."""
        return {
            "command": list(self.command),
            **({"image": self.image} if self.image else {}),
            "env": sorted(self.env),
            "directory": self.directory if self.image else str(self.cwd),
            "ready": str(self.ready),
            "stop_signal": self.stop_signal,
            "respawn": self.respawn,
        }

    def names(self, place: str) -> bool:
        """Whether the program is given this one of PLACES."""
        texts = (*self.command, *self.env.values())
        return any(_place(found) == place for text in texts for found in _PLACE.finditer(text))

    @property
    def offers(self) -> tuple[Capability[object], ...]:
        """What a cluster of it has: links between its nodes, if they are told of each other."""
        contained = (CONTAINERS,) if self.image else ()
        linked = (PEERS,) if self.names("peers") or self.names("peer:N") else ()
        return (*OF_PROGRAMS, *contained, *linked)

    @property
    def unexpanded(self) -> str:
        """A hint, if the command has what only a shell replaces; else empty."""
        found = next((found[0] for word in self.command if (found := _VARIABLE.search(word)) is not None), None)
        if found is None or (self.command and Path(self.command[0]).name in SHELLS):
            return ""
        return f'no shell runs, so {found} is nothing but these letters: write the path, or sh -c "exec ..."'

    @property
    def astray(self) -> str:
        """A hint, if a script that the command names is not where it is started; else empty."""
        names = (word for word in self.command[1:] if Path(word).suffix in SCRIPTS and not _PLACE.search(word))
        missing = next((name for name in names if not (self.cwd / name).exists()), None)
        if self.image or missing is None:
            return ""
        return f"there is no {missing!r} in {self.cwd}, where it is started: another place is named with `directory`"

    @property
    def listens(self) -> bool:
        """Whether it is told where."""
        return any(map(self.names, ("port", "peers", "peer:N")))

    @property
    def cwd(self) -> Path:
        return Path(self.directory or ".").absolute()


def program_of(
    command: str | Sequence[str],
    *,
    image: str = "",
    env: Mapping[str, object] | None = None,
    directory: str = "",
    ready: str = "session",
    ready_s: float = READY_S,
    stop_signal: str = "SIGTERM",
    stop_s: float = STOP_S,
    respawn: bool = False,
    nodes: int | None = None,
) -> Program:
    """From what a person wrote: `command` as a shell would take it, or its words, for so many `nodes`. Raises
    WrongProgramError, also for what cannot be started on this machine, so that nothing else is started; what is in an
    `image`, nobody knows before."""
    known = _environment(env or {})
    for key, text in (("command", command), *(("env", value) for value in known.values()), ("ready", ready)):
        _check_places(key, text if isinstance(text, str) else " ".join(map(str, text)), nodes)
    words = () if image and not command else _words(command)
    for key, texts in (("command", words), ("image", (image,)), ("directory", (directory,))):
        _check_no_nul(key, texts)
    made = Program(
        command=words,
        image=image,
        env=known,
        directory=directory,
        ready=_ready(ready),
        ready_s=ready_s,
        stop_signal=stop_signal,
        stop_s=stop_s,
        respawn=respawn,
    )
    if stop_signal not in SIGNALS:
        raise WrongProgramError("stop_signal", f"{stop_signal!r} is no signal that asks to end", ", ".join(SIGNALS))
    if not image:
        _check_here(made)
    if not made.names("zk"):
        what = "neither the command nor env has {zk}: the program does not know where its ZooKeeper is"
        raise WrongProgramError("command", what, 'write {zk} where it takes the address, or env = { ZK = "{zk}" }')
    if made.ready.kind == "port" and not made.listens:
        what = "neither the command nor env has {port} or {peers}: the program does not know where to listen"
        raise WrongProgramError("ready", what, 'write {port} where it takes the port, or env = { PORT = "{port}" }')
    return made


def _environment(env: Mapping[str, object]) -> dict[str, str]:
    """What a process can be given, and nothing that would become another text on the way. A value may be a secret, so
    none is shown."""
    known: dict[str, str] = {}
    for name, value in env.items():
        if not isinstance(name, str) or not name or {"=", "\0"} & set(name):
            what = f"{name!r} is no name of a variable"
            raise WrongProgramError("env", what, "a name is a text that is not empty and has neither = nor NUL in it")
        if not isinstance(value, str):
            what = f"the value of {name} is of type {type(value).__name__}, and must be a text"
            raise WrongProgramError("env", what, f'write it in quotes: {name} = "..."')
        if "\0" in value:
            raise WrongProgramError("env", f"the value of {name} has a NUL in it, {NO_NUL}", "leave it out")
        known[name] = value
    return known


def _check_no_nul(key: str, texts: Sequence[str]) -> None:
    if found := next((text for text in texts if "\0" in text), None):
        raise WrongProgramError(key, f"{found!r} has a NUL in it, {NO_NUL}", "leave it out")


def _check_here(made: Program) -> None:
    if not made.cwd.is_dir():
        raise WrongProgramError("directory", f"there is no directory {made.cwd}", "it is read from the current one on")
    _check_there(made.command[0], made)
    if (file := _jar(made.command)) and not _PLACE.search(file) and not (made.cwd / file).exists():
        hint = made.unexpanded or "it is read from the current directory on: is it built, or its name misspelt?"
        raise WrongProgramError("command", f"there is no file {file!r} in {made.cwd}", hint)


def _jar(words: Sequence[str]) -> str:
    """What Java is to execute; empty: another program, or another way."""
    return words[words.index("-jar") + 1] if Path(words[0]).name == "java" and "-jar" in words[:-1] else ""


def filled(text: str, values: Mapping[str, object]) -> str:
    """With the values of PLACES; `{{id}}` is `{id}`."""
    return _PLACE.sub(lambda found: f"{{{found[1]}}}" if found[1] else str(values.get(found[2], found[0])), text)


def peer(node: int) -> str:
    """What is said in braces for the address of this one."""
    return f"peer:{node}"


def _place(found: re.Match[str]) -> str | None:
    """The one of PLACES that it names; None: braces as they are."""
    name: str | None = found[2]
    return "peer:N" if name is not None and name.startswith("peer:") else name


def _check_places(key: str, text: str, nodes: int | None) -> None:
    for found in _PLACE.finditer(text):
        if (place := _place(found)) is None:
            continue
        if place not in PLACES:
            hint = f"{nearest(place, PLACES)}; braces as they are: {{{{{place}}}}}"
            raise WrongProgramError(key, f"nothing is filled in for {{{place}}}", hint)
        if place == "peer:N" and nodes is not None and found[2] not in map(peer, range(nodes)):
            hint = f"ids are 0 to {nodes - 1}; {{peers}} has those that join later, too"
            raise WrongProgramError(key, f"{{{found[2]}}} is no node: there are {nodes}", hint)
    if unclosed := _UNCLOSED.search(_PLACE.sub("", text)):
        name = unclosed[1]
        raise WrongProgramError(key, f"{{{name} has no closing brace", f"write {{{name}}}")


def _words(command: str | Sequence[str]) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command)) if isinstance(command, str) else tuple(map(str, command))
    except ValueError as bad:
        raise WrongProgramError("command", f"{command!r} cannot be read: {bad}", "quote as in a shell") from None
    if not words or not words[0]:
        raise WrongProgramError("command", "the command is empty", "write a program and its arguments")
    if isinstance(command, str) and (found := next(filter(_OF_A_SHELL.fullmatch, _as_written(command)), None)):
        hint = 'write sh -c "exec ..." around what a shell is to read; if it is an argument, quote it'
        raise WrongProgramError("command", f"no shell runs, so the program would get {found!r} as an argument", hint)
    return words


def _as_written(command: str) -> list[str]:
    """Its words with their quotes: what is quoted is meant for the program."""
    try:
        return shlex.split(command, posix=False)
    except ValueError:  # quotes that these rules do not know; then nothing is said of it
        return []


def _ready(text: str) -> Ready:
    kind, colon, about = text.partition(":")
    if kind not in READY:
        raise WrongProgramError("ready", f"{text!r} is no readiness", nearest(kind, READY))
    takes = {"znode": "znode:/a/path", "log": "log:a text"}.get(kind, kind)
    if (kind in ("znode", "log")) is not bool(about) or (colon and not about):
        raise WrongProgramError("ready", f"{text!r} is no readiness", f"write {takes!r}")
    if kind == "znode" and not about.startswith("/"):
        raise WrongProgramError("ready", f"{about!r} is no path of a znode", f"write {takes!r}")
    if kind == "znode" and {*"{}"} & {*_PLACE.sub("", about)}:
        raise WrongProgramError("ready", f"{about!r} has a brace alone", "write {id}, or braces as they are: {{id}}")
    return Ready(kind, about)


def _check_there(program: str, made: Program) -> None:
    if _PLACE.search(program := filled(program, {"python": sys.executable})):
        return
    path = made.env.get("PATH", os.environ.get("PATH", os.defpath))
    place = str(made.cwd / program) if os.sep in program else program
    if shutil.which(place, path=path) is not None:
        return
    if os.sep in program and Path(place).exists():
        raise WrongProgramError("command", f"{place} cannot be executed", "chmod +x, or name its interpreter first")
    where = f"in {made.cwd}" if os.sep in program else "on the path"
    hint = made.unexpanded or "is it built, or its name misspelt?"
    raise WrongProgramError("command", f"there is no program {program!r} {where}", hint)
