"""A service as people write it: whoever creates the znode leads, and believes so until it looks again."""

import json
import sys
import time

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NodeExistsError

LEADER = "/my/leader"


def say(**what: str) -> None:
    print(json.dumps({**what, "at_ns": time.monotonic_ns()}), flush=True)


def main(zookeeper: str, name: str, timeout_ms: str) -> None:
    client = KazooClient(zookeeper, timeout=int(timeout_ms) / 1000)
    client.start(timeout=30)
    client.ensure_path("/my/members")
    leads = False
    while True:
        try:
            leads = look(client, name, leads)
        except KazooException as trouble:
            print(f"trouble: {trouble!r}", file=sys.stderr)
        time.sleep(0.05)


def look(client: KazooClient, name: str, leads: bool) -> bool:
    if client.exists(f"/my/members/{name}") is None:
        client.create(f"/my/members/{name}", ephemeral=True)
    try:
        client.create(LEADER, name.encode(), ephemeral=True)
    except NodeExistsError:
        mine = client.get(LEADER)[1].ephemeralOwner == (client.client_id or (0,))[0]  # none: it is being renewed
        if leads != mine:  # to lead it may have asked before, on a connection that was lost before the answer
            say(**{"leads" if mine else "follows": LEADER})
        return mine
    say(leads=LEADER)
    return True


if __name__ == "__main__":
    main(*sys.argv[1:])
