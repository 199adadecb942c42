"""Invariants as a campaign file asks for them (`[[invariants]]`): their keys, and invariants from what a file says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kcontroller_chaos.catalogue.key import ACTION_TYPES, REQUIRED, Key, parameters
from kcontroller_chaos.catalogue.kind import WrongKeyError
from kcontroller_chaos.znode_invariants import KINDS, ZnodeInvariant
from pytest_kcontroller.model.suggestions import nearest

KIND = "kind"


def keys_of(kind: str) -> tuple[Key, ...]:
    """The parameters of a kind that there is."""
    return parameters(KINDS[kind][0], ACTION_TYPES)


def invariants_of(kind: str, given: Mapping[str, Any]) -> tuple[ZnodeInvariant, ...]:
    """One for each verdict, with these parameters and defaults for the others. Raises WrongKeyError."""
    if kind not in KINDS:
        raise WrongKeyError("invariants", KIND, f"{kind!r} is not known", nearest(kind, KINDS))
    keys = {key.name: key for key in keys_of(kind)}
    for name, value in given.items():
        if name not in keys:
            raise WrongKeyError(kind, name, f"{kind} has no key `{name}`", nearest(name, (KIND, *keys)))
        if found := keys[name].wrong(value):
            raise WrongKeyError(kind, name, *found)
    for name, key in keys.items():
        if key.default is REQUIRED and name not in given:
            raise WrongKeyError(kind, name, f"the key `{name}` is missing", key.help)
    made = tuple(one(**given) for one in KINDS[kind])
    if (wrong := made[0].wrong()) is not None:
        raise WrongKeyError(kind, *wrong)
    return made


def facts_of(invariants: Iterable[ZnodeInvariant]) -> list[dict[str, Any]]:
    """For run.json: `kind` and parameters of each, once."""
    kinds = {classes[0]: kind for kind, classes in KINDS.items()}
    return [{KIND: kinds[type(one)], **one.parameters} for one in invariants if type(one) in kinds]


def from_facts(facts: Iterable[Mapping[str, Any]]) -> tuple[ZnodeInvariant, ...]:
    """The invariants of a run, as its run.json has them. Raises WrongKeyError."""
    found: list[ZnodeInvariant] = []
    for one in facts:
        found += invariants_of(str(one[KIND]), {name: value for name, value in one.items() if name != KIND})
    return tuple(found)
