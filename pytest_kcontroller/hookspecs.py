"""What plugins implement. Hooks only *offer* things by name; a campaign or a setting *chooses* by name, so the order of
plugins never matters.

A plugin is a module (or object) with functions marked by `hookimpl`. It is found by the entry point group `kcontroller`
or named by import name in a setting; every node process imports it too, so it must be importable there.

    from pytest_kcontroller.hookspecs import hookimpl

    class RackSticky:
        name = "rack-sticky"

        def __init__(self, weight: float = 1.0) -> None:      # options of the campaign arrive here
            self.weight = weight

        def select(self, partition, reason):
            ...

    @hookimpl
    def kcontroller_leader_selectors():
        return [RackSticky]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import pluggy

from pytest_kcontroller.model.assignment import AssignmentRequest
from pytest_kcontroller.model.election import ElectionReason, LeaderChoice, PartitionView
from pytest_kcontroller.seams import Mutant

PROJECT = "kcontroller"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class LeaderSelector(Protocol):
    """Decides who leads a partition. A function from frozen values to a frozen value: no I/O, no memory, no clock."""

    name: str

    def select(self, partition: PartitionView, reason: ElectionReason) -> LeaderChoice | None:
        """The new leader and ISR; None: nobody, the partition stays as it is (offline).

        The answer is checked before it is written: the leader is live and in the ISR, the ISR is within the assignment,
        nobody is in it twice, nobody from outside the old ISR unless that is allowed. A bad answer, an exception, and none
        within the limit of its batch (the setting plugin_limit_s) is recorded as `selector.bad-answer` with the plugin's
        name, and the stock rule of the reason decides. Each node asks once for each reason when it starts, about a topic
        `__trial`: one that hangs then is never asked again.
        """
        ...


class AssignmentStrategy(Protocol):
    """Decides where the replicas of new partitions live. No I/O, no memory."""

    name: str

    def assign(self, request: AssignmentRequest, draw: Callable[[int], int]) -> Mapping[int, tuple[int, ...]]:
        """Partition -> replicas, preferred first. `draw(n)` gives a number in 0..n-1 from the run's seed.

        Raises AssignmentError if there is no answer: the topic is refused. The answer is checked before it is written: every
        partition once, so many replicas on as many brokers that are there. A bad answer, another exception, and none
        within the limit (the setting plugin_limit_s) is recorded as `strategy.bad-answer` with the strategy's name, and the
        stock strategy `striped` decides.
        """
        ...


@hookspec
def kcontroller_leader_selectors() -> Sequence[type[LeaderSelector] | LeaderSelector]:  # type: ignore[empty-body]
    """Offers leader selectors.

    Called once when plugins are loaded, in every node and in the process that starts a campaign. Takes no arguments.
    Returns classes, each with a `name` and called with the options of the setting as keyword arguments, or ready values,
    which take no options. An exception is a usage error (status 2) that names the plugin.

        @hookimpl
        def kcontroller_leader_selectors():
            return [RackSticky]
    """


@hookspec
def kcontroller_assignment_strategies() -> Sequence[type[AssignmentStrategy] | AssignmentStrategy]:  # type: ignore[empty-body]
    """Offers replica assignment strategies.

    Called once when plugins are loaded. Takes no arguments. Returns classes or ready values, as
    kcontroller_leader_selectors does. An exception is a usage error (status 2) that names the plugin.

        @hookimpl
        def kcontroller_assignment_strategies():
            return [Striped]
    """


@hookspec
def kcontroller_faults() -> Sequence[type]:  # type: ignore[empty-body]
    """Offers faults: what a campaign, or the fixture `chaos`, can do to a cluster.

    Called when campaigns and tests are prepared, not in nodes. Takes no arguments. Returns classes below
    kcontroller_chaos.faults.Fault, frozen dataclasses whose fields are the parameters; of a kind with several modes a class
    for each, that of the default mode first. One that cannot be used, and an exception, is a usage error (status 2) that
    names the plugin. What an `inject`, `observe`, `look_again` or `heal` raises later is a fault that was not
    applied, observed, lasting or healed: the run's verdict is environment, and the other runs are played.

        @hookimpl
        def kcontroller_faults():
            return [GhostBroker]
    """


@hookspec
def kcontroller_invariants() -> Sequence[object]:  # type: ignore[empty-body]
    """Offers invariants: what must hold in the history of every run, and of every test that calls `kcluster.check()`.

    Called when campaigns and tests are prepared, not in nodes. Takes no arguments. Returns classes below
    kcontroller_chaos.invariants.Invariant, which are made without arguments, or what the functions of
    kcontroller_chaos.znode_invariants give (`one_owner("/my/leader")`). One that cannot be used, and an exception, is a
    usage error (status 2) that names the plugin. A `check` that raises, or gives something else than a Verdict, makes the
    verdict unknown, with a sentence that names the class.

        @hookimpl
        def kcontroller_invariants():
            return [IsrNotEmpty]
    """


@hookspec
def kcontroller_mutants() -> Sequence[Mutant]:  # type: ignore[empty-body]
    """Offers mutants: lists of replacements of seams that put a known bug back.

    Called once when plugins are loaded. Takes no arguments. Returns Mutant values; one is installed only when `--mutant`
    or the setting `mutant` names it. An exception is a usage error (status 2) that names the plugin.

        @hookimpl
        def kcontroller_mutants():
            return [Mutant("LOSE-EVERYTHING", "...", "our own", (("store.fence", unfenced),))]
    """
