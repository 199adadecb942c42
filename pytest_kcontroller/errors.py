"""What can be raised, and by whose fault; the exit status that says so; and what pytest warns of.

    KControllerError            3  a fault of ours (internal)
    ├── UsageError              2  a bad file, key, name or option; found before anything starts
    │   ├── MissingExtraError   2  an optional part is not installed
    │   └── NotOnThisBackend    2  this backend cannot have what was asked of it
    └── EnvironmentFailure      6  something outside did not do what it should: a port, a server, a node, a fault
        ├── StartError          6  a process did not become ready; carries its last log lines
        ├── WaitTimeoutError    6  what was waited for did not come; also a TimeoutError
        └── BypassError         6  a program reached ZooKeeper by another way than through zk_proxy
    InvariantError                 an invariant does not hold; an AssertionError

    NeverExercisedWarning          green, and proves less than it says
    NoControllerWarning            a test began without its controller
    LeakWarning                    a test has left something behind
    UnknownVerdictWarning          a campaign could not be judged

Each message says what happened, where, and what to do. Nothing here imports anything of ours.
"""

from __future__ import annotations

from pathlib import Path


class KControllerError(Exception):
    """Base class. `exit_status` is what the command line ends with."""

    exit_status = 3


class UsageError(KControllerError):
    """The person's input is wrong: `where` names file, line and key, `hint` what to do."""

    exit_status = 2

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = what, where, hint
        super().__init__(_sentence(what, where, hint))


class MissingExtraError(UsageError):
    """A feature needs an extra that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{feature} needs the extra [{extra}]", hint=f'pip install "pytest-kcontroller[{extra}]"')


class NotOnThisBackend(UsageError):  # the promised name has no suffix
    """What was asked for does not exist on this backend; `hint` is the way out."""


class EnvironmentFailure(KControllerError):
    """The surroundings failed: neither our bug nor a violated invariant."""

    exit_status = 6

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what, self.where, self.hint = what, where, hint
        super().__init__(_sentence(what, where, hint))


class StartError(EnvironmentFailure):
    """A process did not become ready.

    `phase` is what it was doing, `seconds` how long that took, `log` where its output is and `more_log` the rest of it,
    `command` how to start it by hand (empty: it cannot be), `way_out` what to do, if that is known. All of it is in the
    message, with the last 50 lines of the log and 10 of the rest. It begins with the reason: pytest's summary shows no more.
    """

    def __init__(
        self,
        name: str,
        *,
        phase: str,
        seconds: float,
        log: Path,
        command: str,
        hint: str = "",
        more_log: Path | None = None,
    ) -> None:
        self.name, self.phase, self.seconds, self.log, self.command = name, phase, seconds, log, command
        self.way_out = hint
        by_hand = f"start it by hand: {command}" if command else ""
        advice = "; ".join(filter(None, (hint, by_hand)))
        rest = [] if more_log is None else _last_lines(more_log, most=10)
        what = f"{name} did not start: {phase} (after {seconds:.1f} s)"
        printed = f"last lines of {log}:\n{_indented(_last_lines(log))}"
        printed += f"\nlast lines of {more_log}:\n{_indented(rest)}" if rest else ""
        if advice:
            super().__init__(what, hint=f"{advice}\n{printed}")
        else:  # what it printed is none
            super().__init__(f"{what}\n{printed}")
        self.where = str(log)


class WaitTimeoutError(EnvironmentFailure, TimeoutError):
    """What was waited for did not come in time; the first line says what was seen last."""

    def __init__(self, what: str, *, seen: str | None, timeout_s: float, look_at: Path | None = None) -> None:
        """`what` was to be true, `seen` is why it was not at the last look; there is more in `look_at`, if anywhere."""
        hint = "" if look_at is None else f"more is in {look_at}"
        super().__init__(f"not within {timeout_s:g} s: {what}: {seen}", hint=hint)


class BypassError(EnvironmentFailure):
    """Somebody reached ZooKeeper without passing the proxies."""


class InvariantError(AssertionError):
    """An invariant does not hold, or could not be judged; the message says all that is known, `reason` the first of it in a
    line."""

    def __init__(self, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.reason = reason


class NeverExercisedWarning(UserWarning):
    """Nothing is violated, and an invariant that was asked for had nothing to check, or a fault nobody to hit: this is
    green, and proves less than it says."""


class NoControllerWarning(UserWarning):
    """A test was given its cluster though no controller knew all nodes in time: it says why that took so long."""


class LeakWarning(UserWarning):
    """A test has left something behind (--kc-leaks=warn)."""


class UnknownVerdictWarning(UserWarning):
    """A campaign could not be judged (--kc-unknown=warn)."""


def _indented(lines: list[str]) -> str:
    return "\n".join(f"    {line}" for line in lines) or "    (it printed nothing)"


def _last_lines(log: Path, *, most: int = 50, longest: int = 500) -> list[str]:
    """Of a log that another program writes: it may be of any size, and so may its lines."""
    if not log.exists():
        return []
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - most * longest))
        lines = file.read().decode(errors="replace").splitlines()[-most:]
    return [line if len(line) <= longest else f"{line[:longest]}..." for line in lines]


def _sentence(what: str, where: str, hint: str) -> str:
    return "".join((f"{where}: " if where else "", what, f"\n  -> {hint}" if hint else ""))
