"""What a campaign file may have that names a program of the user's (`[system]`), and what is for nodes of ours alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from kcontroller_chaos.admin import ACTIONS
from kcontroller_chaos.campaign.specs import FaultSpec, GeneratorSpec
from kcontroller_chaos.campaign.targets import OF_PROGRAMS as TARGETS
from kcontroller_chaos.campaign.targets import of_programs
from kcontroller_chaos.catalogue import Catalogue
from kcontroller_chaos.faults import Fault
from pytest_kcontroller.cluster.capabilities import CONTAINERS, OF_PROGRAMS, PEERS, Capability
from pytest_kcontroller.cluster.program import NO_PEERS, OF_OUR_NODES, Program

Has = tuple[Capability[object], ...]
Wrong = tuple[str, int, str, str, str]
"""Section, index, key, what is wrong, a hint."""

TRIGGERS = ("observed", "healed")
DRAWN = ", ".join(f'"{target}"' for target in TARGETS[:2])


def kinds_for(table: Mapping[str, Any], catalogue: Catalogue) -> list[str]:
    """The kinds of faults that this file (`table`) can have: all, or with a program of the user's those that it can have,
    whatever it is told."""
    if not isinstance(system := table.get("system"), Mapping):
        return list(catalogue.kinds)
    has = (*OF_PROGRAMS, PEERS, *((CONTAINERS,) if "image" in system else ()))
    return [name for name, kind in catalogue.kinds.items() if kind.fits(lambda needed: needed in has)]


def unfit(
    table: Mapping[str, Any],
    program: Program,
    faults: Sequence[FaultSpec],
    generator: GeneratorSpec | None,
    catalogue: Catalogue,
) -> Wrong | None:
    """The first thing in the file (`table`: as it was read) that the program of the user's cannot have."""
    has = program.offers
    found = chain(_ours(table, has), _faults(table, faults, catalogue, has), _drawn(table, generator, catalogue, has))
    return next(found, None)


def _ours(table: Mapping[str, Any], has: Has) -> Iterator[Wrong]:
    said = "[system] has programs of yours as nodes, and"
    for key in OF_OUR_NODES:
        if key in table.get("cluster", {}):
            yield "cluster", 0, key, f"{said} this is a key of ours", "leave it out"
    if table.get("topics"):
        yield "topics", 0, "name", f"{said} they have no topics", "leave [[topics]] out"
    for index, row in enumerate(table.get("workload", ())):
        if (action := ACTIONS.get(row.get("action"))) is not None and (
            lacking := _lacking(action.needs, has)
        ) is not None:
            yield (
                "workload",
                index,
                "action",
                _cannot(f"the action {action.kind}", lacking),
                "add_node can be asked for",
            )


def _faults(table: Mapping[str, Any], faults: Sequence[FaultSpec], catalogue: Catalogue, has: Has) -> Iterator[Wrong]:
    for index, spec in enumerate(faults):
        if (lacking := _lacking(spec.fault.needs, has)) is not None:
            key = "mode" if "mode" in table["faults"][index] else "kind"
            yield "faults", index, key, *_fault(type(spec.fault), lacking, catalogue, has)
        if not of_programs(spec.target):
            named = f"the target {spec.target!r} is of nodes of ours"
            what = named if "target" in table["faults"][index] else "the key `target` is missing"
            yield "faults", index, "target", what, f"one of {', '.join(TARGETS)}"
        for key, trigger in (("when", spec.when), ("until", spec.until)):
            if trigger is not None and trigger.partition(":")[0] not in TRIGGERS:
                what = f"the trigger {trigger!r} is of nodes of ours"
                yield "faults", index, key, what, ", ".join(f"{name}:FAULT" for name in TRIGGERS)


def _drawn(table: Mapping[str, Any], spec: GeneratorSpec | None, catalogue: Catalogue, has: Has) -> Iterator[Wrong]:
    if spec is None:
        return
    for name in spec.faults:
        if (lacking := _lacking(catalogue.named(name).needs, has)) is not None:
            yield "generator", 0, "faults", *_fault(catalogue.named(name), lacking, catalogue, has)
    for name in spec.admin:
        if (lacking := _lacking(ACTIONS[name].needs, has)) is not None:
            yield "generator", 0, "admin", _cannot(f"the action {name}", lacking), "add_node can be asked for"
    for target in spec.targets:
        if not of_programs(target):
            named = f"the target {target!r} is of nodes of ours"
            what = named if "targets" in table["generator"] else "the key `targets` is missing"
            yield "generator", 0, "targets", what, f"targets = [{DRAWN}], or one of them"


def _lacking(needs: tuple[Capability[object], ...], has: Has) -> Capability[object] | None:
    return next((needed for needed in needs if needed not in has), None)


def _fault(kind: type[Fault], lacking: Capability[object], catalogue: Catalogue, has: Has) -> tuple[str, str]:
    name = f"the fault {kind.kind}:{kind.mode}" if kind.mode else f"the fault {kind.kind}"
    modes = [one for one in catalogue.kinds[kind.kind].classes if _lacking(one.needs, has) is None]
    other = " or ".join((*(f'`mode = "{one.mode}"`' for one in modes), "another kind"))
    return _cannot(name, lacking), f"{NO_PEERS}; or {other}" if lacking is PEERS else other


def _cannot(what: str, lacking: Capability[object]) -> str:
    return f"{what} needs what a program of yours has not: {lacking}"
