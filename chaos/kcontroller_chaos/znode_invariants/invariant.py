"""What the invariants of any system have in common: parameters, and a name that is made of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

from kcontroller_chaos.checking import nodes_of_sessions
from kcontroller_chaos.history.read import History
from kcontroller_chaos.invariants import Invariant
from kcontroller_chaos.znode_invariants.znodes import why_no_path


def parameter(default: Any, help: str, *, unit: str = "", least: float | None = None) -> Any:
    """A field of an invariant: a key of campaign files, and an argument. `default` `...`: it must be given."""
    metadata = {"help": help, "unit": unit, "least": least}
    return field(metadata=metadata) if default is ... else field(default=default, metadata=metadata)


@dataclass(kw_only=True, eq=False)
class ZnodeInvariant(Invariant):
    """One invariant over znodes of any system. Its fields are its parameters; those called `path`, or `..._path`, are paths
    or patterns of znodes, and make its name."""

    rule: ClassVar[str]
    """The beginning of its name."""
    any_program: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.name = f"{self.rule}({', '.join(str(getattr(self, name)) for name in self._paths)})"

    @property
    def _paths(self) -> list[str]:
        return [one.name for one in fields(self) if one.name.rpartition("_")[2] == "path"]

    @property
    def parameters(self) -> dict[str, Any]:
        """As they are recorded."""
        return asdict(self)

    def pending(self, history: History) -> bool:
        """Of a liveness invariant, while a run goes on: whether it is worth waiting for, since it does not hold yet."""
        return False

    @property
    def patience_s(self) -> float:
        """So long at least it is waited for, in times of the run."""
        return 0.0

    def wrong(self) -> tuple[str, str, str] | None:
        """What cannot be: the parameter, a sentence, a hint."""
        for name in self._paths:
            if found := why_no_path(getattr(self, name)):
                return name, *found
        return None


def of_nodes(history: History) -> dict[str, int] | None:
    """Session -> node; None: nobody knows, so every session may be one of the system's."""
    return nodes_of_sessions(history) or None


def who(session: str, nodes: dict[str, int] | None) -> str:
    return f"node {nodes[session]} (session {session})" if nodes and session in nodes else f"session {session}"


def seconds(t_us: int) -> str:
    return f"{t_us / 1e6:.3f} s"
