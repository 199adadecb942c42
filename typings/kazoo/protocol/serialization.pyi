from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, ClassVar, NamedTuple

from kazoo.exceptions import ZookeeperError
from kazoo.protocol.states import WatchedEvent
from kazoo.security import ACL

_Watcher = Callable[[WatchedEvent], object] | None

int_struct: Struct
int_int_struct: Struct
long_struct: Struct
stat_struct: Struct
multiheader_struct: Struct
# kazoo/exceptions.py's, by the code of the wire
EXCEPTIONS: dict[int, type[ZookeeperError]]
# The type CloseInstance has no fields: it is a request by itself.
CloseInstance: Any

def read_string(buffer: bytes, offset: int) -> tuple[str, int]: ...
def read_buffer(bytes: bytes, offset: int) -> tuple[bytes | None, int]: ...

class _Connect(NamedTuple):
    protocol_version: int
    last_zxid_seen: int
    time_out: int
    session_id: int
    passwd: bytes
    read_only: bool | None

class Connect(_Connect):
    type: ClassVar[None]
    def serialize(self) -> bytearray: ...
    # of ZooKeeper's answer, which has no zxid
    @classmethod
    def deserialize(cls, bytes: bytes, offset: int) -> tuple[Connect, int]: ...

class _Create(NamedTuple):
    path: str
    data: bytes
    acl: Sequence[ACL]
    flags: int

class Create(_Create):
    type: ClassVar[int]
    def serialize(self) -> bytearray: ...

class Create2(_Create):
    type: ClassVar[int]

class _Delete(NamedTuple):
    path: str
    version: int

class Delete(_Delete):
    type: ClassVar[int]

class _Exists(NamedTuple):
    path: str
    watcher: _Watcher

class Exists(_Exists):
    type: ClassVar[int]

class _GetData(NamedTuple):
    path: str
    watcher: _Watcher

class GetData(_GetData):
    type: ClassVar[int]
    def serialize(self) -> bytearray: ...

class _SetData(NamedTuple):
    path: str
    data: bytes
    version: int

class SetData(_SetData):
    type: ClassVar[int]

class _GetChildren(NamedTuple):
    path: str
    watcher: _Watcher

class GetChildren(_GetChildren):
    type: ClassVar[int]
    def serialize(self) -> bytearray: ...

class _GetChildren2(NamedTuple):
    path: str
    watcher: _Watcher

class GetChildren2(_GetChildren2):
    type: ClassVar[int]

class _CheckVersion(NamedTuple):
    path: str
    version: int

class CheckVersion(_CheckVersion):
    type: ClassVar[int]

class _Transaction(NamedTuple):
    operations: Sequence[Create | Delete | SetData | CheckVersion]

class Transaction(_Transaction):
    type: ClassVar[int]

class MultiHeader(NamedTuple):
    type: int
    done: bool
    err: int
    def serialize(self) -> bytes: ...
    @classmethod
    def deserialize(cls, bytes: bytes, offset: int) -> tuple[MultiHeader, int]: ...

class ReplyHeader(NamedTuple):
    xid: int
    zxid: int
    err: int
    @classmethod
    def deserialize(cls, bytes: bytes, offset: int) -> tuple[ReplyHeader, int]: ...

class _Sync(NamedTuple):
    path: str

class Sync(_Sync):
    type: ClassVar[int]

class _Auth(NamedTuple):
    auth_type: int
    scheme: str
    auth: str

class Auth(_Auth):
    type: ClassVar[int]
    def serialize(self) -> bytes: ...

class _SASL(NamedTuple):
    challenge: bytes

class SASL(_SASL):
    type: ClassVar[int]
    def serialize(self) -> bytearray: ...
    @classmethod
    def deserialize(cls, bytes: bytes, offset: int) -> tuple[bytes, int]: ...
