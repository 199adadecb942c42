"""The keys of a campaign file, declared once: this table checks files (file.py), and the JSON schema and the tables in the
docs are made from it (published.py)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kcontroller_chaos.catalogue import Catalogue
from kcontroller_chaos.catalogue.key import REQUIRED, Key
from kcontroller_chaos.catalogue.placement import DAY_S, FAULT_KEYS
from pytest_kcontroller.cluster.limits import LONGEST_SESSION_MS, MOST_NODES
from pytest_kcontroller.model.kafka_config import KAFKA_CONFIG
from pytest_kcontroller.runtime.foreign import LIMIT_S

OVERTIME_S = 600.0
"""The start, healing, convergence and the end of a cluster take seconds, minutes on a busy host."""

ADMIN_ACTIONS = ("create_topic",)
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
        Key("seeds", "seeds", '"1..20" or a list of whole numbers; one run each', "1..1"),
    ),
    required=True,
)
CLUSTER = Section(
    "cluster",
    "what it is played on",
    (
        Key("nodes", "integer", "number of nodes, ids from 0", 3, least=1, most=MOST_NODES),
        Key("zookeeper", "integer", "number of ZooKeeper servers", 1, choices=("1",)),
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
        Key("config", "object", "Kafka's settings of the nodes: " + ", ".join(key.name for key in KAFKA_CONFIG), {}),
    ),
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
WORKLOAD = Section(
    "workload",
    "what is asked of the cluster meanwhile",
    (
        Key("kind", "string", "admin: one action at one time; none: nothing", REQUIRED, choices=("admin", "none")),
        Key("action", "string", "of admin: what to do", None, choices=ADMIN_ACTIONS),
        Key(
            "at_s",
            "number",
            "of admin: when, from the start of the run; the seed moves it a little",
            None,
            "s",
            least=0,
        ),
        Key("topic", "string", "of create_topic: its name", None),
        Key("partitions", "integer", "of create_topic: number of partitions", 1, least=1, most=10_000),
        Key("replication_factor", "integer", "of create_topic: replicas of each partition", 1, least=1),
        Key(
            "topic_id",
            "boolean",
            "of create_topic: false, as by a tool before Kafka 2.8, and the controller gives the topic its id",
            True,
        ),
    ),
    many=True,
)


THRESHOLDS = Section(
    "thresholds",
    "how much of what is planned must come about, so that a run can hold: one in which less did is unknown",
    (
        Key("faults_applied", "integer", "faults that are applied, if some are planned", 1, least=0),
        Key("operations_ok", "integer", "actions of the workload that succeed, if some are planned", 1, least=0),
    ),
)
"""Both 0 say that a file without faults and workload is meant."""


def faults_section(catalogue: Catalogue) -> Section:
    """The keys of all kinds, those that every fault has first."""
    kind, *rest = FAULT_KEYS
    own = {
        key.name: replace(key, help=f"of {kind.name}: {key.help}")
        for kind in catalogue.kinds.values()
        for key in kind.keys
    }
    return Section(
        "faults",
        "what is done to it",
        (replace(kind, choices=tuple(catalogue.kinds)), *rest, *own.values()),
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
            Key("max_concurrent", "integer", "so many drawn faults at once", 1, least=1, most=1000),
            Key("heal_before_end_s", "number", "all are healed so long before the end", 5, "s", least=0),
            Key(
                "targets",
                "names",
                "of faults; leader: of a drawn partition",
                list(DRAWN_TARGETS),
                choices=DRAWABLE_TARGETS,
            ),
            Key(
                "admin",
                "names",
                "drawn in between; a name that stands twice, here or in faults, is drawn twice as often",
                [],
                choices=ADMIN_ACTIONS,
            ),
            Key(
                "swarm",
                "boolean",
                "each seed uses only some of the faults and targets, so that combinations of a few come up; with `kill` in "
                "the list (`kill:sigterm` is another), half of the seeds have nodes that are down all the time",
                False,
            ),
            Key("crash_points", "number", "share of faults that strike at a drawn crash point (sim only)", 0, least=0),
        ),
        optional=True,
    )


def expected_section(catalogue: Catalogue) -> Section:
    names = tuple(invariant.name for invariant in catalogue.invariants)
    return Section(
        "expected",
        "failures that are known: reported, and no reason for a red exit status until their date",
        (
            Key(
                "invariant",
                "string",
                "the one that is violated",
                REQUIRED,
                choices=names,
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
    return CAMPAIGN, CLUSTER, TOPICS, WORKLOAD, faults_section(catalogue), drawn, THRESHOLDS, expected
