"""Ends a process when its owner dies. Run as a script (`python -I -S supervisor.py`), imports only the standard library.

    supervisor.py OWNER_FD STATUS_FD CLEANUP... -- [COMMAND ...]

OWNER_FD is the read end of a pipe whose write end only the owner holds: end of file means that the owner is gone, whatever
ended it, SIGKILL too. Then the child's process group gets SIGKILL (stopped processes as well) and the CLEANUP directories
are removed. STATUS_FD gets two lines: the child's pid, and at its end its status (negative: the signal).

A byte on OWNER_FD is the owner's order to kill the group; nothing is removed then. Without a COMMAND the directories are all
that is looked after, until end of file; STATUS_FD is not used then.

The child leads a process group of its own, so that Ctrl-C in a terminal reaches the owner only: it decides what to end.
PR_SET_PDEATHSIG ends the child should the supervisor itself be killed (the signal follows the thread that forked, and this
process has only one).
"""

import ctypes
import os
import select
import shutil
import signal
import sys

PR_SET_PDEATHSIG = 1
REMOVE_TRIES = 100
REMOVE_PAUSE_S = 0.05


def main() -> int:
    owner, status = int(sys.argv[1]), int(sys.argv[2])
    split = sys.argv.index("--")
    cleanup, command = sys.argv[3:split], sys.argv[split + 1 :]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if not command:
        os.read(owner, 1)
        remove(cleanup)
        return 0
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    set_read, set_write = os.pipe()
    child = os.fork()
    if child == 0:
        become(command, set_write, keep_closed=(owner, status, wake_read, wake_write, set_read))
    os.close(set_write)
    os.read(set_read, 1)  # who knows the pid may signal it: only once SIGTERM is not ignored and the group exists
    os.close(set_read)
    tell(status, child)
    code = watch(owner, wake_read, child)
    if code is None or not tell(status, code):
        remove(cleanup)
    return 0


def tell(status: int, number: int) -> bool:
    """False: the owner is gone. It can die at any time, also before it has heard of its child."""
    try:
        os.write(status, f"{number}\n".encode())
    except BrokenPipeError:
        return False
    return True


def become(command: list[str], is_set: int, keep_closed: tuple[int, ...]) -> None:
    """In the child: its own group, the parent-death signal, a byte on `is_set`, the command."""
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
    try:
        os.execvp(command[0], command)
    except OSError as bad:
        print(f"{command[0]}: {bad.strerror}", file=sys.stderr, flush=True)
        os._exit(127)


def watch(owner: int, wake: int, child: int) -> int | None:
    """Until the child has ended; then nothing of its group is left. None: the owner is gone."""
    while True:
        ready, _, _ = select.select([owner, wake], [], [])
        if wake in ready:
            os.read(wake, 512)
            pid, raw = os.waitpid(child, os.WNOHANG)
            if pid:
                kill_group(child)
                return os.waitstatus_to_exitcode(raw)
        if owner in ready:
            order = os.read(owner, 1)
            kill_group(child)
            if not order:
                os.waitpid(child, 0)
                return None


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
        select.select([], [], [], REMOVE_PAUSE_S)


if __name__ == "__main__":
    sys.exit(main())
