"""That ZooKeeper has servers enough for what a campaign file does to them."""

from __future__ import annotations

from collections.abc import Sequence

from kcontroller_chaos.campaign.specs import FaultSpec, GeneratorSpec
from kcontroller_chaos.catalogue import Catalogue
from kcontroller_chaos.catalogue.zookeeper import too_few


def too_few_servers(
    servers: int, faults: Sequence[FaultSpec], generator: GeneratorSpec | None, catalogue: Catalogue
) -> tuple[str, int, str, str, str] | None:
    """Section, index, key, what is wrong and a hint, of the first fault that needs more; None: there are enough."""
    drawn = () if generator is None else generator.faults
    named = [("faults", index, "kind", type(spec.fault)) for index, spec in enumerate(faults)]
    named += [("generator", 0, "faults", catalogue.named(name)) for name in drawn]
    for section, index, key, fault in named:
        if (wrong := too_few(fault, servers)) is not None:
            return section, index, key, wrong[0], "say `zookeeper = 3` in [cluster]"
    return None
