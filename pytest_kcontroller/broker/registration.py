"""How a broker makes itself known: persistent paths, /cluster/id, meta.properties, /brokers/ids.

Sources: kafka.zk.KafkaZkClient (registerBroker, CheckedEphemeral, createOrGetClusterId), KafkaServer.startup and
kafka.server.BrokerMetadataCheckpoint (3.9).
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from pytest_kcontroller.errors import EnvironmentFailure, UsageError
from pytest_kcontroller.model.cluster import Broker
from pytest_kcontroller.runtime.ports import Clock, Disk, Rng
from pytest_kcontroller.seams import seam
from pytest_kcontroller.zookeeper.session import (
    ConnectionLossError,
    Create,
    Delete,
    NodeExistsError,
    NoNodeError,
    SetData,
    Stat,
    ZkSession,
)
from pytest_kcontroller.zookeeper.store import Store
from pytest_kcontroller.zookeeper.znodes import (
    CLUSTER_ID,
    PERSISTENT_PATHS,
    broker_path,
    decode_cluster_id,
    encode_broker,
    encode_cluster_id,
)

META_PROPERTIES = "meta.properties"
RETRY_US = 50_000


async def prepare_cluster(store: Store, disks: Sequence[Disk], rng: Rng, broker: int) -> str:
    """Creates the persistent paths and /cluster/id where they are missing, and checks that these disks belong here.

    Returns the cluster's id. Raises UsageError if one belongs to another cluster or broker (Kafka:
    InconsistentClusterIdException, InconsistentBrokerIdException).
    """
    await store.ensure_paths(PERSISTENT_PATHS)
    cluster_id = await _cluster_id(store, rng)
    for disk in disks:
        _own(disk, cluster_id, broker)
    return cluster_id


def _own(disk: Disk, cluster_id: str, broker: int) -> None:
    stored = _properties(disk.read(META_PROPERTIES))
    for key, ours, what in (("cluster.id", cluster_id, "cluster"), ("broker.id", str(broker), "broker")):
        if stored.get(key, ours) != ours:
            raise UsageError(
                f"the node's directory belongs to the {what} {stored[key]}, not to {ours}",
                where=META_PROPERTIES,
                hint="start it with the right ZooKeeper and id, or give it a directory of its own",
            )
    if stored.get("cluster.id") != cluster_id or stored.get("broker.id") != str(broker):
        disk.write(META_PROPERTIES, f"#\nversion=0\nbroker.id={broker}\ncluster.id={cluster_id}\n".encode())


async def register(
    store: Store, session: ZkSession, broker: Broker, clock: Clock, *, previous_session: int = 0, wait_us: int = 0
) -> int:
    """Makes /brokers/ids/<id> in `session` and returns the broker epoch, which is that znode's czxid.

    A registration left by `previous_session` (ours) is replaced (KAFKA-7165). One of somebody else is waited for up to
    `wait_us` microseconds, since it is what a killed process leaves until its session times out; Kafka does not wait. Then
    EnvironmentFailure. Raises SessionExpiredError.
    """
    path = broker_path(broker.id)
    deadline = clock.now_us() + wait_us
    data = encode_broker(broker, clock.wall_ms())
    while True:
        try:
            # One answer with both: create gives no stat, set does, and its czxid is that of the create.
            _, stat = await store.write_all([Create(path, data, ephemeral=True), SetData(path, data)])
            assert isinstance(stat, Stat)
            return stat.czxid
        except ConnectionLossError:
            continue
        except NodeExistsError:
            if (epoch := await _existing(store, session, path, previous_session)) is not None:
                return epoch
        if not waits_for_registration(deadline - clock.now_us()):
            if (there := await store.get(path)) is None:
                continue
            raise EnvironmentFailure(
                f"another broker with the id {broker.id} is registered (session {there.stat.ephemeral_owner:#x})",
                where=path,
                hint="give this node another id, or stop the other one",
            )
        await clock.sleep_us(RETRY_US)


@seam("broker.waits-for-registration")
def waits_for_registration(left_us: int) -> bool:
    """A session of ours whose id we have never learnt ends by itself (KAFKA-14845)."""
    return left_us > 0


async def _existing(store: Store, session: ZkSession, path: str, previous_session: int) -> int | None:
    """The broker epoch if the registration that is there is our own; None: try again."""
    there = await store.get(path)
    if there is None:
        return None
    if there.stat.ephemeral_owner == session.session_id:
        return there.stat.czxid  # our own try, whose answer was lost
    if previous_session and there.stat.ephemeral_owner == previous_session:
        try:
            await store.write_all([Delete(path, there.stat.version)])
        except (ConnectionLossError, NoNodeError):
            return None
    return None


async def _cluster_id(store: Store, rng: Rng) -> str:
    """The one in ZooKeeper, or a new one: 16 random bytes as Kafka writes them."""
    while (there := await store.get(CLUSTER_ID)) is None:
        new = base64.urlsafe_b64encode(rng.stream("cluster-id").randbytes(16)).rstrip(b"=").decode()
        await store.ensure_paths([CLUSTER_ID.rpartition("/")[0]])
        try:
            await store.write_all([Create(CLUSTER_ID, encode_cluster_id(new))])
        except (NodeExistsError, ConnectionLossError):
            continue
    return decode_cluster_id(there.data)


def _properties(data: bytes | None) -> dict[str, str]:
    lines = [] if data is None else data.decode(errors="replace").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith(("#", "!")))
    return {key.strip(): value.strip() for key, _, value in pairs}
