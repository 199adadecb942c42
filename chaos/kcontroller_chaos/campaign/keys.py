"""The keys of a campaign file, declared once: this table checks files (file.py), and the JSON schema and the tables in the
docs are made from it (published.py)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kcontroller_chaos.admin import ACTIONS
from kcontroller_chaos.catalogue import Catalogue, actions, invariants
from kcontroller_chaos.catalogue.key import REQUIRED, Key, merged
from kcontroller_chaos.catalogue.placement import DAY_S, FAULT_KEYS
from kcontroller_chaos.znode_invariants import KINDS
from pytest_kcontroller.cluster.limits import LONGEST_SESSION_MS, MOST_NODES
from pytest_kcontroller.cluster.program import PLACES, READY, READY_S, SIGNALS, STOP_S
from pytest_kcontroller.cluster.zookeeper import SIZES
from pytest_kcontroller.model.cluster import MOST_LOG_DIRS
from pytest_kcontroller.model.kafka_config import KAFKA_CONFIG
from pytest_kcontroller.runtime.foreign import LIMIT_S

OVERTIME_S = 600.0
"""The start, healing, convergence and the end of a cluster take seconds, minutes on a busy host."""

DRAWN_TARGETS = ("controller", "leader", "random")
DRAWABLE_TARGETS = (*DRAWN_TARGETS, "others")
REASONS = ("offline", "reassigned", "preferred", "controlled_shutdown")


@dataclass(frozen=True, slots=True)
class Section:
    """One table, or with `many` an array of tables."""

    name: str
    help: str
    keys: tuple[Key, ...]
    many: bool = False
    required: bool = False
    optional: bool = False
    """Left out, it is not there, instead of having its defaults."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.keys)


CAMPAIGN = Section(
    "campaign",
    "what is played",
    (
        Key("name", "string", "names the run directories: letters, digits, hyphens", REQUIRED),
        Key("duration_s", "number", "how long faults and workload go on", REQUIRED, "s", least=0.1, most=DAY_S),
        Key(
            "overtime_s",
            "number",
            "so long beyond duration_s a run may take, in real time; then it is ended, and the verdict is environment",
            OVERTIME_S,
            "s",
            least=1,
            most=DAY_S,
        ),
        Key("seeds", "seeds", '"1..20", "1,4,7" or a list of whole numbers; one run each', "1..1"),
    ),
    required=True,
)
CLUSTER = Section(
    "cluster",
    "what it is played on",
    (
        Key("nodes", "integer", "number of nodes, ids from 0", 3, least=1, most=MOST_NODES),
        Key("log_dirs", "integer", "log directories of each node (JBOD)", 1, least=1, most=MOST_LOG_DIRS),
        Key(
            "zookeeper",
            "integer",
            "number of ZooKeeper servers: 3 are an ensemble, which simulated time has not",
            1,
            choices=tuple(map(str, SIZES)),
        ),
        Key(
            "session_timeout_ms",
            "integer",
            "session time-out that nodes ask ZooKeeper for",
            3000,
            "ms",
            least=1,
            most=LONGEST_SESSION_MS,
        ),
        Key("assignment", "plugin", "assignment strategy, or {name = ..., options}", "striped"),
        Key("selectors", "object", "reason -> leader selector, or {name = ..., options}", {}, choices=REASONS),
        Key(
            "plugin_limit_s",
            "number",
            "so long a selector or strategy of a plugin may take for one batch of answers, in real time",
            LIMIT_S,
            "s",
            least=0.01,
            most=DAY_S,
        ),
        Key(
            "kafka_compat", "names", "bugs that Kafka 3.9 has, and that the nodes shall have too (docs/mutants.md)", []
        ),
        Key("config", "object", "Kafka's settings of the nodes: " + ", ".join(key.name for key in KAFKA_CONFIG), {}),
    ),
)
SYSTEM = Section(
    "system",
    "a program of yours as the nodes, instead of ours ("
    + "; ".join(f"`{{{name}}}`: {what}" for name, what in PLACES.items())
    + ")",
    (
        Key("command", "string", "what is started, its words as in a shell; no shell runs it", REQUIRED),
        Key(
            "image",
            "string",
            "of each node's container, on a backend of containers; `command` is what it gets in the place of its own, and "
            "may be empty then",
            "",
        ),
        Key("env", "object", "variable -> text, besides those that are there", {}),
        Key(
            "directory", "string", "where it is started; default: the current directory, in a container the image's", ""
        ),
        Key(
            "ready",
            "string",
            "when a node is ready: " + "; ".join(f"`{kind}`: {what}" for kind, what in READY.items()),
            "session",
        ),
        Key("ready_s", "number", "it is ready within this time", READY_S, "s", least=0.1, most=DAY_S),
        Key("stop_signal", "string", "what asks it to end", "SIGTERM", choices=SIGNALS),
        Key(
            "respawn",
            "boolean",
            "a process that ends by itself, as some do when their session expires, is started again, as systemd and "
            "Kubernetes do; without it that violates nodes-stay-up",
            False,
        ),
        Key("stop_s", "number", "it has ended within this time then, or is killed", STOP_S, "s", least=0.1, most=DAY_S),
    ),
    optional=True,
)
TOPICS = Section(
    "topics",
    "topics that exist before the run begins",
    (
        Key("name", "string", "name", REQUIRED),
        Key("partitions", "integer", "number of partitions", 1, least=1, most=10_000),
        Key("replication_factor", "integer", "replicas of each partition, at most the number of nodes", 1, least=1),
    ),
    many=True,
)
WORKLOAD_KEYS = (
    Key("kind", "string", "admin: one action at one time; none: nothing", REQUIRED, choices=("admin", "none")),
    Key("action", "string", "of admin: what to do", None, choices=tuple(ACTIONS)),
    Key("at_s", "number", "of admin: when, from the start of the run; the seed moves it a little", None, "s", least=0),
)
"""What every entry has."""


def workload_section() -> Section:
    """The keys of all actions, those that every entry has first."""
    own = merged({kind: actions.keys_of(kind) for kind in ACTIONS}, "of")
    return Section(
        "workload",
        "what is asked of the cluster meanwhile",
        (*WORKLOAD_KEYS, *own),
        many=True,
    )


def invariants_section() -> Section:
    """The keys of all kinds of invariants over znodes."""
    kind = Key("kind", "string", "what must hold", REQUIRED, choices=tuple(KINDS))
    own = merged({kind: invariants.keys_of(kind) for kind in KINDS}, "of")
    return Section("invariants", "what must hold of znodes of your own", (kind, *own), many=True)


THRESHOLDS = Section(
    "thresholds",
    "how much of what is planned must come about, so that a run can hold: one in which less did is unknown",
    (
        Key("faults_applied", "integer", "faults that are applied, if some are planned", 1, least=0),
        Key("operations_ok", "integer", "actions of the workload that succeed, if some are planned", 1, least=0),
        Key("invariants_exercised", "integer", "entries of [[invariants]] that find something to check", 1, least=0),
    ),
)
"""The first two 0 say that a file without faults and workload is meant."""


def faults_section(catalogue: Catalogue) -> Section:
    """The keys of all kinds, those that every fault has first."""
    kind, *rest = FAULT_KEYS
    own = merged({kind.name: kind.keys for kind in catalogue.kinds.values()}, "of")
    return Section(
        "faults",
        "what is done to it",
        (replace(kind, choices=tuple(catalogue.kinds)), *rest, *own),
        many=True,
    )


def generator_section(catalogue: Catalogue) -> Section:
    return Section(
        "generator",
        "what is drawn from the seed besides; a drawn fault that is not possible at its moment is skipped",
        (
            Key("faults", "names", "kinds, or KIND:MODE", REQUIRED, choices=catalogue.fault_names),
            Key(
                "every_s",
                "range",
                "from one drawn action to the next, at least and at most",
                [1, 3],
                "s",
                least=0.01,
                most=DAY_S,
            ),
            Key(
                "lasting_s",
                "range",
                "how long a drawn fault lasts, at least and at most",
                [0.5, 3],
                "s",
                least=0,
                most=DAY_S,
            ),
            Key("max_concurrent", "integer", "so many drawn faults are planned at once", 1, least=1, most=1000),
            Key("heal_before_end_s", "number", "all are planned to be healed so long before the end", 5, "s", least=0),
            Key(
                "targets",
                "names",
                "of faults: " + ", ".join(DRAWABLE_TARGETS) + " (of a drawn partition), or owner-of:PATH",
                list(DRAWN_TARGETS),
            ),
            Key(
                "admin",
                "names",
                "drawn in between; a name that stands twice, here or in faults, is drawn twice as often",
                [],
                choices=tuple(ACTIONS),
            ),
            Key(
                "swarm",
                "boolean",
                "each seed uses only some of the faults, targets and admin actions (topics are made in all), so that "
                "combinations of a few come up; with `kill` in the list, half of the seeds have "
                "nodes that are down all the time",
                False,
            ),
            Key("crash_points", "number", "share of faults that strike at a drawn crash point (sim only)", 0, least=0),
        ),
        optional=True,
    )


def expected_section(catalogue: Catalogue) -> Section:
    return Section(
        "expected",
        "failures that are known: reported, and no reason for a red exit status until their date",
        (
            Key(
                "invariant",
                "string",
                "the one that is violated; one of `[[invariants]]` by the name that its verdict has: one-owner(/my/leader)",
                REQUIRED,
            ),
            Key(
                "faults",
                "names",
                "only in runs where faults of all these kinds were applied",
                [],
                choices=tuple(catalogue.kinds),
            ),
            Key("reason", "string", "why it is known, such as the id of an issue", REQUIRED),
            Key("until", "date", "the last day on which it counts as known", REQUIRED),
        ),
        many=True,
    )


def sections(catalogue: Catalogue) -> tuple[Section, ...]:
    """All sections, in the order of the docs."""
    drawn, expected = generator_section(catalogue), expected_section(catalogue)
    faults, must_hold = faults_section(catalogue), invariants_section()
    return CAMPAIGN, CLUSTER, SYSTEM, TOPICS, workload_section(), faults, drawn, must_hold, THRESHOLDS, expected
