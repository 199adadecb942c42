"""What an exception does: one table, asked when an event has failed.

| exception | the event | the term | the node |
|---|---|---|---|
| SessionExpiredError | ends; who asked gets NOT_CONTROLLER | ends with the Expire that is on its way | opens a session |
| FencedError | ends, as above | ends if /controller is not ours any more (it is read), or it just begins | goes on |
| ConnectionLossError | recorded and logged | stays | goes on |
| CorruptZnodeError | recorded and logged, with the znode's path | stays | goes on |
| anything else: a bug, ours or a plugin's | recorded, logged with its traceback | stays | goes on |

An event that fails otherwise than by the first two, after it has prepared requests and before they are sent, ends the term
by force: only a new one tells the brokers what ZooKeeper holds (KAFKA-2300).

While a term begins (failover) all but the first two end it, and /controller is given back, so that somebody else may try.
A selector that raises is no failure of an event: the stock rule decides in its place (decide.leader). A single corrupt
state or topic znode is none either: it costs only itself.

Source: kafka.controller.KafkaController.process and QueuedEvent (3.9): ControllerMovedException resigns, all else is logged.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pytest_kcontroller.zookeeper.session import ConnectionLossError, SessionExpiredError
from pytest_kcontroller.zookeeper.store import FencedError
from pytest_kcontroller.zookeeper.znodes import CorruptZnodeError

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequence:
    recorded: bool = True
    """In the history and in the node's log: nobody else tells of it."""
    traceback: bool = False
    """The log has it with its traceback: the message alone does not say where to look."""
    recheck: bool = False
    """The term may be over: /controller is read."""
    ends_term: bool = False
    """Nothing that is still to be done in it can be."""
    ends_failover: bool = True
    """A term that begins with it ends, and gives /controller back."""


TABLE: tuple[tuple[type[Exception], Consequence], ...] = (
    (SessionExpiredError, Consequence(recorded=False, ends_term=True, ends_failover=False)),
    (FencedError, Consequence(recorded=False, recheck=True, ends_term=True, ends_failover=False)),
    (ConnectionLossError, Consequence()),
    (CorruptZnodeError, Consequence()),
    (Exception, Consequence(traceback=True)),
)
"""The first that fits counts."""


def consequence(failed: Exception) -> Consequence:
    return next(consequence for kind, consequence in TABLE if isinstance(failed, kind))


def log_failure(event: str, failed: Exception) -> None:
    """Into the node's log (logs/ of a run)."""
    trace = failed if consequence(failed).traceback else None
    _log.error("the controller's event %s failed: %s", event, failed if trace is None else repr(failed), exc_info=trace)
