"""What ZooKeeper's four-letter words say, as servers of 3.9 said it."""

from __future__ import annotations

from pytest_kcontroller.cluster.zookeeper.words import Connected, read_connections, read_dump, read_watches
from pytest_kcontroller.model.cluster import Address

CONS = """\
 /127.0.0.1:45470[0](queued=0,recved=1,sent=0)
 /127.0.0.1:45456[1](queued=0,recved=4,sent=4,sid=0x100000a03f90000,lop=GETC,est=1795926750525,to=2000,lcxid=0x3)
 /0:0:0:0:0:0:0:1:45458[1](queued=0,recved=4,sent=4,sid=0xf00000a03f90001,lop=PING,est=1795926750525,to=400,lcxid=0x3)
 null[1](queued=0,recved=4,sent=4,sid=0x100000a03f90002,lop=GETC,est=1795926750525,to=2000,lcxid=0x3)

"""

DUMP = """\
SessionTracker dump:
Session Sets (2)/(1):
0 expire at Sun Nov 29 04:32:31 UTC 2026:
1 expire at Sun Nov 29 04:32:32 UTC 2026:
\t0x100000a03f90000
\t0x100000a03f90007
ephemeral nodes dump:
Sessions with Ephemerals (1):
0x100000a03f90000:
\t/b
\t/a: 0x7
Connections dump:
Connections Sets (2)/(2):
1 expire at Sun Nov 29 04:32:34 UTC 2026:
\tip: /127.0.0.1:45456 sessionId: 0x100000a03f90009
"""


def test_connections() -> None:
    assert read_connections(CONS) == {
        0x100000A03F90000: Connected(Address("127.0.0.1", 45456), 2000),
        0xF00000A03F90001: Connected(Address("0:0:0:0:0:0:0:1", 45458), 400),
    }
    assert read_connections("") == {}


def test_dump() -> None:
    dump = read_dump(DUMP)
    assert dump.sessions == {0x100000A03F90000, 0x100000A03F90007}
    assert dump.ephemerals == {0x100000A03F90000: ("/a: 0x7", "/b")}


def test_watches() -> None:
    assert read_watches("0x1\n\t/b\n\t/a\n0x2\n\t/c\n\n") == {1: ("/a", "/b"), 2: ("/c",)}
    assert read_watches("\n") == {}
