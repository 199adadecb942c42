"""Whether a fault can be observed where somebody wants it: it says so itself, and one from a plugin is not trusted."""

from __future__ import annotations

from typing import Any

from kcontroller_chaos.faults import Fault
from kcontroller_chaos.injection import Placement, Wrong
from pytest_kcontroller.model.text import shown
from pytest_kcontroller.runtime.foreign import without_power


def wrong_at(fault: Fault, at: Placement) -> Wrong | None:
    """See Fault.wrong_at."""
    try:
        said: Any = without_power(lambda: fault.wrong_at(at))
    except (Exception, SystemExit) as failed:  # noqa: BLE001 - a plugin's fault may raise anything
        return "kind", f"{fault.kind} cannot say whether it can be observed: {shown(failed)}", ""
    match said:
        case None:
            return None
        case (str(key), str(what), str(hint)):
            return key, what, hint
    return "kind", f"{fault.kind} cannot say whether it can be observed: its wrong_at gave {shown(said)}", ""
