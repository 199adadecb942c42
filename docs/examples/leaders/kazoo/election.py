"""A service whose leader counts in /my/data/count: python election.py HOST:PORT ID SESSION_TIMEOUT_MS [fenced]

The leader is elected by kazoo's recipe. What the recipe does not tell its leader is that the session is gone: without
`fenced` it goes on, in the session that the client gets next. With `fenced` ZooKeeper refuses it.
"""

import json
import sys
import time

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.recipe.election import Election

ELECTION, COUNT = "/my/election", "/my/data/count"


def say(**line):
    print(json.dumps({**line, "at_ns": time.monotonic_ns()}), flush=True)


def count_on(client):
    value = int(client.get(COUNT)[0] or b"0")
    client.set(COUNT, b"%d" % (value + 1))


def lead(client):
    """Until the process ends."""
    say(leads=ELECTION)
    client.ensure_path(COUNT)
    while True:
        client.retry(count_on, client)
        time.sleep(0.02)


def count_on_if(client, mine):
    """False: the znode that made us the leader is gone. ZooKeeper checks that, and writes, in one transaction."""
    value = int(client.get(COUNT)[0] or b"0")
    transaction = client.transaction()
    transaction.check(mine, version=0)
    transaction.set_data(COUNT, b"%d" % (value + 1))
    return not any(isinstance(result, Exception) for result in transaction.commit())


def lead_fenced(client, election):
    """Until somebody else may lead. The epoch is the number that ZooKeeper gave to our znode."""
    mine = f"{ELECTION}/{election.lock.node}"
    say(leads=ELECTION, epoch=int(mine[-10:]))
    client.ensure_path(COUNT)
    while client.retry(count_on_if, client, mine):
        time.sleep(0.02)
    say(follows=ELECTION)


def main(hosts, node, timeout_ms, fenced=""):
    client = KazooClient(hosts, timeout=int(timeout_ms) / 1000)
    client.start()
    while True:
        election = Election(client, ELECTION, node)
        try:
            election.run(*((lead_fenced, client, election) if fenced else (lead, client)))
        except KazooException as failed:
            print(f"stands again: {failed!r}", file=sys.stderr, flush=True)


main(*sys.argv[1:])
