"""A /controller that goes while its failover lasts is nobody's business. Kafka 3.9; no issue is known.

The watch of the election has told of its creation, and the next one is set when ControllerChange is handled, after the
failover. A deletion in between tells nobody; ControllerChange finds nothing, resigns, and does not elect. Seen with 3.9.1:
a broker was elected, /controller was deleted 18 ms later, and there was no controller for a minute, until other
brokers came.
"""

from __future__ import annotations

from pytest_kcontroller.controller.controller import Controller
from pytest_kcontroller.seams import Mutant


async def resign_only(controller: Controller) -> None:
    """It has resigned, and waits for a deletion that has been."""


MUTANT = Mutant(
    name="UNWATCHED-CONTROLLER",
    description="A controller whose /controller is deleted during its failover resigns, and stands for no election.",
    source="Apache Kafka 3.9.1: kafka.controller.KafkaController.processControllerChange, maybeResign",
    replacements=(("controller.elect-when-gone", resign_only),),
    breaks=("one-controller-after-healing",),
    kafkas=True,
)
