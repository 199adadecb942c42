"""elect.py, as a service runs it whose znodes nobody else may read."""

import sys

import elect
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

USER, PASSWORD = "elect", "apart"


class Apart(KazooClient):
    def __init__(self, *where: object, **more: object) -> None:
        mine = [make_digest_acl(USER, PASSWORD, all=True)]
        super().__init__(*where, **more, auth_data=[("digest", f"{USER}:{PASSWORD}")], default_acl=mine)


if __name__ == "__main__":
    elect.KazooClient = Apart
    elect.main(*sys.argv[1:])
