"""A plugin whose selector raises what no terminal, file or stream takes as it is."""

from pytest_kcontroller.hookspecs import hookimpl


class OddError(Exception):
    def __str__(self) -> str:
        return "raw \x00 \x1b[31m \x12 \ud800 ]]> <script>alert(1)</script> \ufffe \u2028 |x| `y`\n# z"

    __repr__ = __str__


class MuteError(Exception):
    """Not even its repr works."""

    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


class Odd:
    name = "odd-text"

    def select(self, partition, reason):
        raise OddError


class Mute:
    name = "mute"

    def select(self, partition, reason):
        raise MuteError


@hookimpl
def kcontroller_leader_selectors():
    return [Odd, Mute]
