"""What the fixture `chaos` gives: the faults of the catalogue, injected and healed by hand.

Each is played as in a campaign: injected, observed by other means than it was injected with, and healed when it has been
observed, so that healing never destroys the evidence.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kcontroller_chaos.campaign import nearest
from kcontroller_chaos.engine import TARGET_S, Engine
from kcontroller_chaos.faults import Fault, kinds, work_of
from kcontroller_chaos.group import Group
from kcontroller_chaos.injection import Evidence, Injection
from kcontroller_chaos.keys import TARGETS
from kcontroller_chaos.player import FaultPlayer
from kcontroller_chaos.targets import resolve
from pytest_kcontroller.backend import Backend
from pytest_kcontroller.cluster.timing import scaled
from pytest_kcontroller.errors import EnvironmentError_, UsageError
from pytest_kcontroller.runtime.rng import NamedRng

__tracebackhide__ = True  # pytest: a failing call is shown where the test makes it

STEPS = ("applied", "observed", "healed")


class InjectedFault:
    """One fault that is on, until `heal`."""

    def __init__(self, backend: Backend, name: str, duration_s: float | None) -> None:
        self._backend, self._duration_s = backend, duration_s
        self.name = name
        self.nodes: tuple[int, ...] = ()
        """Whom it hits."""
        self._ended = {step: asyncio.Event() for step in STEPS}
        self._failed: dict[str, str] = {}
        self._evidence: Evidence = {}
        self._heal = asyncio.Event()
        self._playing: asyncio.Task[None] | None = None

    def observed(self) -> Evidence:
        """Waits for the evidence that the fault has its effect, and returns it. Raises EnvironmentError_: there is none."""
        self._backend.driver.call(self._ended["observed"].wait())
        self._raise("observed")
        return self._evidence

    def heal(self) -> None:
        """Waits until it has been observed, and takes it back. Raises EnvironmentError_: it was not observed, or not healed.

        Healed once; the second call does nothing.
        """
        if self._heal.is_set():
            return
        self._backend.driver.call(self._end())
        self._raise("observed", "healed")

    async def _end(self) -> None:
        self._heal.set()
        if self._playing is not None:
            await self._playing

    def _raise(self, *steps: str) -> None:
        for step in steps:
            if step in self._failed:
                raise EnvironmentError_(f"the fault {self.name} was not {step}: {self._failed[step]}")

    # --- in the driver

    async def inject(self, fault: Fault, mode: str | None, target: str, members: list[Injection]) -> None:
        work, on = work_of(fault.kind, mode), members[0]
        single = len(members) == 1
        if not single:
            work = Group(work, members)
        self.nodes = tuple(member.node for member in members)
        fields: dict[str, Any] = {"fault": self.name, "fault_kind": fault.kind, "mode": mode, "target": target}
        fields |= {"node": on.node if single else None, "session": hex(on.session) if single else None}
        self._record("fault.asked", **fields)
        engine = Engine(on.cluster, on.feed, on.clock, self._record)
        player = FaultPlayer(engine, work, on, fields, self._until_healed)
        self._playing = asyncio.get_running_loop().create_task(player.play(), name=self.name)
        await self._ended["applied"].wait()
        if "applied" in self._failed:
            await self._end()
            self._raise("applied")

    async def _until_healed(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._duration_s):
                await self._heal.wait()

    def _record(self, kind: str, **fields: Any) -> None:
        self._backend.record(kind, **fields)
        said = kind.removeprefix("fault.")
        step = said.removeprefix("not-")
        if step in STEPS:
            if step != said:
                self._failed[step] = str(fields["why"])
            self._evidence = fields.get("evidence", self._evidence)
            self._ended[step].set()


class Chaos:
    """See the fixture."""

    def __init__(self, backend: Backend) -> None:
        self._backend, self._cluster, self._driver = backend, backend.cluster, backend.driver
        self._faults: list[InjectedFault] = []
        self._draw = NamedRng(backend.settings.seed).stream("chaos/targets").randrange
        self._driver.call(self._begin())

    async def _begin(self) -> None:
        self._feed = self._backend.feed()
        self._following = asyncio.get_running_loop().create_task(self._feed.follow(), name="feed")

    def inject(
        self,
        kind: str,
        *,
        target: str = "controller",
        mode: str | None = None,
        duration_s: float | None = None,
        **parameters: Any,
    ) -> InjectedFault:
        """Returns when the fault has been applied; it stays until `heal()`, or for `duration_s`, or to the test's end.

        Kinds, modes, targets and parameters are those of campaign files. Raises UsageError for what does not exist, and
        EnvironmentError_ if nobody is the target or the fault could not be applied.
        """
        name = f"{kind}-{len(self._faults) + 1}"
        fault = _declared(kind, mode, parameters)
        self._check_target(target)
        mode = mode or (fault.modes[0] if fault.modes else None)
        injected = InjectedFault(self._backend, name, duration_s)
        self._driver.call(self._inject(injected, fault, mode, target, duration_s))
        return injected

    @contextmanager
    def fault(self, kind: str, **more: Any) -> Iterator[InjectedFault]:
        """`with chaos.fault("kill", target="node:1"):` as `inject`; healed at the end of the block."""
        injected = self.inject(kind, **more)
        try:
            yield injected
        except BaseException:
            with contextlib.suppress(EnvironmentError_):  # what failed in the block is what the test is about
                injected.heal()
            raise
        injected.heal()

    async def _inject(
        self, injected: InjectedFault, fault: Fault, mode: str | None, target: str, duration_s: float | None
    ) -> None:
        found: list[int] = []

        async def somebody() -> str | None:
            found[:] = await resolve(self._cluster, target, self._draw)
            return None if found else "nobody is"

        await self._cluster.wait_until(f"some node is {target!r}", somebody, timeout_s=scaled(TARGET_S))
        self._feed.poll()
        members = []
        for node in found:
            status = await self._cluster.status(node)
            if status is None or not status.session:
                raise EnvironmentError_(f"node {node} has no session, so nothing can be observed of a fault on it")
            members.append(
                Injection(
                    cluster=self._cluster,
                    feed=self._feed,
                    clock=self._backend.clock,
                    fault=injected.name,
                    node=node,
                    session=status.session,
                    since=self._feed.position,
                    asked_us=self._backend.clock.now_us(),
                    duration_s=duration_s,
                    parameters=dataclasses.asdict(fault),
                )
            )
        self._faults.append(injected)
        await injected.inject(fault, mode, target, members)

    def _check_target(self, target: str) -> None:
        name, _, argument = target.partition(":")
        if name == "node" and argument not in map(str, self._cluster.nodes):
            raise UsageError(f"there is no node {argument!r}", hint=f"one of {self._cluster.nodes}")
        if name not in [known.partition(":")[0] for known in TARGETS]:
            raise UsageError(f"{target!r} is no target", hint=nearest(target, TARGETS))

    def close(self) -> None:
        """Heals what is still there. Raises EnvironmentError_ for the first fault that was not observed or healed."""
        failures = []
        for injected in self._faults:
            try:
                injected.heal()
            except EnvironmentError_ as failed:
                failures.append(failed)
        self._driver.call(self._stop_following())
        if failures:
            raise failures[0]

    async def _stop_following(self) -> None:
        self._following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._following


def _declared(kind: str, mode: str | None, parameters: dict[str, Any]) -> Fault:
    """Raises UsageError."""
    if kind not in kinds():
        raise UsageError(f"there is no fault {kind!r}", hint=nearest(kind, kinds()))
    declaration = kinds()[kind]
    if mode is not None and mode not in declaration.modes:
        hint = nearest(mode, declaration.modes) if declaration.modes else "leave it out"
        raise UsageError(f"{kind} has no mode {mode!r}", hint=hint)
    own = {field.name: field.metadata.get("choices", ()) for field in dataclasses.fields(declaration)}
    for name, value in parameters.items():
        if name not in own:
            known = (*own, "target", "mode", "duration_s")
            raise UsageError(f"a fault of the kind {kind} has no parameter {name!r}", hint=nearest(name, known))
        if own[name] and value not in own[name]:
            raise UsageError(f"{kind} has no {name} {value!r}", hint=nearest(str(value), own[name]))
    return declaration(**parameters)
