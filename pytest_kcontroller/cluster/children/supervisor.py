"""Ends a process when its owner dies. Run as a script (`python -I -S supervisor.py`), imports only the standard library.

    supervisor.py OWNER_FD STATUS_FD CLEANUP... -- [COMMAND ...]

OWNER_FD is the read end of a pipe whose write end only the owner holds: end of file means that the owner is gone, whatever
ended it, SIGKILL too. Then the child's process group gets SIGKILL (stopped processes as well) and the CLEANUP directories
are removed. STATUS_FD gets two lines: the pids of child and supervisor; at the end the child's status (negative: a signal).

A byte on OWNER_FD is the owner's order to kill the group; nothing is removed then. Without a COMMAND only directories are
looked after, until end of file: the owner names them on OWNER_FD, each with a zero byte at its end. STATUS_FD is not used.

What the child has forked ends with it. Those that have left its group (a daemon calls setsid) become this process's children
when their parents end (PR_SET_CHILD_SUBREAPER), and are looked for then.

The child leads a process group of its own, so that Ctrl-C in a terminal reaches the owner only: it decides what to end.
PR_SET_PDEATHSIG ends the child should the supervisor itself be killed (the signal follows the thread that forked, and this
process has only one).
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import sys

TYPE_CHECKING = False  # typing is not imported: this is the whole of a small process
if TYPE_CHECKING:
    from collections.abc import Callable

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
REMOVE_TRIES = 100
REMOVE_PAUSE_S = 0.05
REAP_PAUSE_S = 0.005


def main() -> int:
    owner, status = int(sys.argv[1]), int(sys.argv[2])
    split = sys.argv.index("--")
    cleanup, command = sys.argv[3:split], sys.argv[split + 1 :]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if not command:
        remove(named(owner))
    else:
        supervise(owner, status, cleanup, lambda: execute(command))
    return 0


def named(owner: int) -> list[str]:
    """The directories that the owner names, once it is gone."""
    names = b""
    while part := os.read(owner, 65536):
        names += part
    return [os.fsdecode(name) for name in names.split(b"\0")[:-1]]


def supervise(owner: int, status: int, cleanup: list[str], become: Callable[[], None]) -> None:
    """`become` makes the new process what it is to be; it does not return, unless by an exception."""
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    set_read, set_write = os.pipe()
    child = os.fork()
    if child == 0:
        prepare(set_write, keep_closed=(owner, status, wake_read, wake_write, set_read))
        become()
    os.close(set_write)
    os.read(set_read, 1)  # who knows the pid may signal it: only once SIGTERM is not ignored and the group exists
    os.close(set_read)
    tell(status, child, os.getpid())
    code = watch(owner, wake_read, child)
    if code is None or not tell(status, code):
        remove(cleanup)


def tell(status: int, *numbers: int) -> bool:
    """False: the owner is gone. It can die at any time, also before it has heard of its child."""
    try:
        os.write(status, f"{' '.join(map(str, numbers))}\n".encode())
    except BrokenPipeError:
        return False
    return True


def prepare(is_set: int, keep_closed: tuple[int, ...]) -> None:
    """In the child: its own group, the signals of a new process, the parent-death signal, a byte on `is_set`."""
    os.setpgid(0, 0)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores the last two, and what is ignored stays so after exec
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for fd in keep_closed:
        os.close(fd)
    os.write(is_set, b"s")
    os.close(is_set)


def execute(command: list[str]) -> None:
    try:
        os.execvp(command[0], command)
    except OSError as bad:
        print(f"{command[0]}: {bad.strerror}", file=sys.stderr, flush=True)
        os._exit(127)


def watch(owner: int, wake: int, child: int) -> int | None:
    """Until the child has ended; then nothing of its group is left. None: the owner is gone."""
    while True:
        told = ready(owner, wake)
        if wake in told:
            os.read(wake, 512)
            if (code := reap(child)) is not None:
                kill_group(child)
                kill_adopted()
                return code
        if owner in told:
            order = os.read(owner, 1)
            kill_group(child)
            if not order:
                os.waitpid(child, 0)
                kill_adopted()
                return None


def ready(*descriptors: int, limit_s: float | None = None) -> list[int]:
    """Those that can be read, as soon as one can; none: the time is up. `select` refuses numbers from 1024 on, and what we
    inherit has the number that it has in the owner, however many files that has open."""
    asked = select.poll()
    for descriptor in descriptors:
        asked.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in asked.poll(None if limit_s is None else limit_s * 1000)]


def reap(child: int) -> int | None:
    """The status of the child, if it has ended; whoever else has is an orphan of its making."""
    code = None
    while True:
        try:
            pid, raw = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if not pid:
            return code
        if pid == child:
            code = os.waitstatus_to_exitcode(raw)


def kill_adopted() -> None:
    """Each that ends leaves its own children to us, so we look until there are none."""
    for _ in range(REMOVE_TRIES):
        reap(0)
        if not (left := children()):
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        ready(limit_s=REAP_PAUSE_S)


def children() -> list[int]:
    """Of this process, by the fourth field of /proc/PID/stat; where that is not there, nobody was adopted either."""
    if sys.platform != "linux":
        return []
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdigit() and parent_of(entry.name) == os.getpid()]


def parent_of(pid: str) -> int:
    """0: it has gone."""
    try:
        stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return 0
    try:
        return int(os.read(stat, 1024).rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return 0
    finally:
        os.close(stat)


def kill_group(child: int) -> None:
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        return


def remove(directories: list[str]) -> None:
    """Again for a while if need be: other processes of the dead owner, which are being killed too, may still write there."""
    for _ in range(REMOVE_TRIES):
        for directory in directories:
            shutil.rmtree(directory, ignore_errors=True)
        if not any(os.path.lexists(directory) for directory in directories):
            return
        ready(limit_s=REMOVE_PAUSE_S)


if __name__ == "__main__":
    sys.exit(main())
