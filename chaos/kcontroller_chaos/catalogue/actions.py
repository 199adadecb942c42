"""Admin actions as a campaign names them: their keys, and an action from what a file says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcontroller_chaos.admin import ACTIONS, AdminAction
from kcontroller_chaos.catalogue.key import ACTION_TYPES, REQUIRED, Key, parameters
from kcontroller_chaos.catalogue.kind import WrongKeyError
from pytest_kcontroller.model.suggestions import nearest


def keys_of(kind: str) -> tuple[Key, ...]:
    """The parameters of an action that there is."""
    return parameters(ACTIONS[kind], ACTION_TYPES)


def action_of(kind: str, given: Mapping[str, Any]) -> AdminAction:
    """The action with these parameters, and defaults for the others. Raises WrongKeyError."""
    if kind not in ACTIONS:
        raise WrongKeyError("workload", "action", f"{kind!r} is not known", nearest(kind, ACTIONS))
    keys = {key.name: key for key in keys_of(kind)}
    for name, value in given.items():
        if name not in keys:
            raise WrongKeyError(kind, name, f"{kind} has no key `{name}`", nearest(name, keys))
        if found := keys[name].wrong(value):
            raise WrongKeyError(kind, name, *found)
    for name, key in keys.items():
        if key.default is REQUIRED and name not in given:
            raise WrongKeyError(kind, name, f"the key `{name}` is missing", key.help)
    return ACTIONS[kind](**{name: _value(keys[name], value) for name, value in given.items()})


def _value(key: Key, value: Any) -> Any:
    if key.type == "nodes":
        return tuple(value)
    return float(value) if key.type == "number" else value
