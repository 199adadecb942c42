"""What can be wrong with a class that a plugin offers: a sentence without its subject, which is the class."""

from __future__ import annotations

import inspect
import re
from typing import Any

from kcontroller_chaos.catalogue.key import parameters
from kcontroller_chaos.catalogue.placement import FAULT_KEYS
from kcontroller_chaos.checking import LIVENESS, SAFETY
from kcontroller_chaos.faults import Fault
from kcontroller_chaos.injection import CLAIMS
from kcontroller_chaos.invariants import Invariant
from kcontroller_chaos.znode_invariants import ZnodeInvariant
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.plugin.blame import FROM_OUTSIDE

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RULE = re.compile(r"[a-z][a-z0-9-]*")
_MODE = re.compile(r"[a-z][a-z0-9_-]*")


def invariant_problem(offer: Any) -> str | None:
    """What is wrong with what a plugin offers as an invariant: a class, or one that has been made."""
    if isinstance(offer, ZnodeInvariant):
        return None
    if not isinstance(offer, type) or not issubclass(offer, Invariant):
        return "is no class below kcontroller_chaos.invariants.Invariant"
    for name in ("name", "kind", "expected", "source"):
        if not isinstance(value := getattr(offer, name, None), str) or not value:
            return f"has no `{name}`" if value is None else f"has a `{name}` that is no text: {value!r}"
    if not _RULE.fullmatch(offer.name):
        return f"has a `name` that is not of small letters, digits and hyphens: {offer.name!r}"
    if offer.kind not in (SAFETY, LIVENESS):
        return f"has the kind {offer.kind!r}: {SAFETY} or {LIVENESS}"
    if offer.check is Invariant.check:
        return "has no method `check`"
    try:
        inspect.signature(offer.check).bind(None, None)
        offer()
    except FROM_OUTSIDE:
        raise
    except BaseException as wrong:  # noqa: BLE001 - its __init__ is as foreign as the rest
        return f"is not made without arguments, or its `check` does not take (self, history): {shown(wrong, str)}"
    return None


def fault_problem(offer: Any) -> str | None:
    """What is wrong with a class that a plugin offers as a fault."""
    if not isinstance(offer, type) or not issubclass(offer, Fault):
        return "is no class below kcontroller_chaos.faults.Fault"
    if not isinstance(getattr(offer, "kind", None), str) or not _NAME.fullmatch(offer.kind):
        return f"has no `kind` of small letters, digits and underscores: {getattr(offer, 'kind', None)!r}"
    if offer.mode is not None and not (isinstance(offer.mode, str) and _MODE.fullmatch(offer.mode)):
        return f"has a `mode` that is no name: {offer.mode!r}"
    if "__dataclass_params__" not in vars(offer):
        return "is not decorated with @dataclass(frozen=True, kw_only=True)"
    if not isinstance(offer.claims, tuple) or not all(claim in CLAIMS for claim in offer.claims):
        return f"claims {offer.claims!r}: a tuple of {', '.join(CLAIMS)}"
    return _method_problem(offer) or _parameter_problem(offer)


def _method_problem(offer: type[Fault]) -> str | None:
    for name in ("inject", "observe", "heal", "within_s"):
        method = getattr(offer, name)
        if name in ("inject", "observe") and method is getattr(Fault, name):
            return f"has no method `{name}`"
        if name != "within_s" and not inspect.iscoroutinefunction(method):
            return f"has a method `{name}` that is no `async def`"
        try:
            inspect.signature(method).bind(None, None)
        except TypeError:
            return f"has a method `{name}` with a wrong signature: write `{name}(self, on)`"
    return None


def _parameter_problem(offer: type[Fault]) -> str | None:
    try:
        names = [key.name for key in parameters(offer)]
    except Exception as wrong:  # noqa: BLE001 - a type that does not exist is a NameError
        return f"has a field that cannot be a parameter: {wrong}"
    taken = [name for name in names if name in [key.name for key in FAULT_KEYS]]
    return f"has a parameter `{taken[0]}`, which every fault has" if taken else None
