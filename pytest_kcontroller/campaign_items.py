"""Campaign files as test items: one per file and seed, `smoke.toml::seed-3`.

They are collected from `kc_campaigns` in a run without paths on the command line, and where a campaign file itself is such a
path: whoever names a folder or a test wants that and not ten minutes of chaos.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_kcontroller.options import KcSettings, read_settings

if TYPE_CHECKING:
    from _pytest._code.code import TerminalRepr

HELD, VIOLATED, UNKNOWN = 0, 1, 4
"""Exit statuses of `kcontroller campaign run`; every other one is an error (errors.py)."""

LOG_LINES = 30
INTERRUPT_S = 30.0

files_key = pytest.StashKey[frozenset[Path]]()


class UnknownVerdictWarning(UserWarning):
    """A campaign could not be judged (--kc-unknown=warn)."""


def add_to_arguments(config: pytest.Config, settings: KcSettings) -> None:
    """Decides which campaign files this run collects; those that its folders do not contain become arguments."""
    for glob in settings.campaigns:
        if Path(glob).is_absolute():
            raise pytest.UsageError(f"kc_campaigns: {glob} is absolute; write it as seen from {settings.rootpath}")
    found = (path for glob in settings.campaigns for path in settings.rootpath.glob(glob))
    known = sorted({path.resolve() for path in found if path.is_file()})
    if not known:
        raise pytest.UsageError(f"kc_campaigns: no file matches {' '.join(settings.campaigns)} in {settings.rootpath}")
    given = [_absolute(config, argument) for argument in config.args]
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        config.stash[files_key] = frozenset(path for path in known if path in given)
        return
    config.stash[files_key] = frozenset(known)
    skipped = config.getini("norecursedirs")
    config.args += [str(path) for path in known if not any(_visits(folder, path, skipped) for folder in given)]


def _absolute(config: pytest.Config, argument: str) -> Path:
    return Path(config.invocation_params.dir, argument.partition("::")[0]).resolve()


def _visits(folder: Path, path: Path, skipped: list[str]) -> bool:
    if not path.is_relative_to(folder):
        return False
    parts = path.relative_to(folder).parts[:-1]
    return not any(fnmatch(part, pattern) for part in parts for pattern in skipped)


def collect(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix != ".toml" or file_path not in parent.config.stash.get(files_key, frozenset()):
        return None
    collector: CampaignFile = CampaignFile.from_parent(parent, path=file_path)
    return collector


class CampaignFile(pytest.File):
    """One campaign file. A broken one is a collection error with its message alone."""

    def collect(self) -> Iterator[pytest.Item]:
        from kcontroller_chaos.campaign import load_campaign

        campaign = load_campaign(self.path)
        seed = read_settings(self.config).seed
        for number in campaign.seeds if seed is None else (seed,):
            yield CampaignItem.from_parent(self, name=f"seed-{number}", campaign=campaign, seed=number)

    def repr_failure(  # type: ignore[override]  # collectors have no styles
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> str | TerminalRepr:
        from pytest_kcontroller.errors import KControllerError

        return str(excinfo.value) if isinstance(excinfo.value, KControllerError) else super().repr_failure(excinfo)


class CampaignItem(pytest.Item):
    """One run, by `kcontroller campaign run` in a process of its own that dies with pytest.

    It happens in the set-up phase, so that a failing environment is an error; its verdict is the test.
    """

    def __init__(self, *, campaign: Any, seed: int, **rest: Any) -> None:
        super().__init__(**rest)
        self.campaign, self.seed = campaign, seed
        self.status: int | None = None
        self.add_marker("chaos")
        if campaign.crash_points:
            self.add_marker(pytest.mark.kcontroller(backends=["sim"]))

    @property
    def out(self) -> Path:
        """Where its run directory goes."""
        return self.config.rootpath / "runs" / f"pytest-{os.getpid()}" / f"{self.path.stem}-seed-{self.seed}"

    @property
    def log(self) -> Path:
        return self.out / "campaign.log"

    def setup(self) -> None:
        from pytest_kcontroller.loop_thread import LoopThread

        self.out.mkdir(parents=True, exist_ok=True)
        loop = LoopThread()
        try:
            self.status = loop.call(_played(self._command(), self.log))
        finally:
            loop.stop()
        if self.status not in (HELD, VIOLATED, UNKNOWN):
            raise CampaignError(f"{self._called}: the run ended with status {self.status}", self._details())

    def _command(self) -> list[str]:
        settings = read_settings(self.config)
        options = [argument for name in settings.plugins for argument in ("--plugin", name)]
        if settings.backend != "process":
            options += ["--backend", settings.backend]  # a simulated ZooKeeper, whatever --kc-zookeeper says
        elif settings.zookeeper == "container":
            options += ["--zookeeper", "container"]
            options += ["--zookeeper-image", settings.zookeeper_image] if settings.zookeeper_image else []
        program = "import sys; from pytest_kcontroller.cli import main; sys.exit(main())"
        run = ["campaign", "run", str(self.path), "--seeds", str(self.seed), "--out", str(self.out), *options]
        return [sys.executable, "-c", program, *run]

    def runtest(self) -> None:
        if self.status == HELD and (known := self._known()):
            pytest.xfail("; ".join(known))
        if self.status == VIOLATED:
            raise CampaignError(f"{self._called}: what should hold did not", self._details())
        if self.status == UNKNOWN:
            if read_settings(self.config).unknown == "fail":
                raise CampaignError(f"{self._called}: the verdict is unknown (--kc-unknown=fail)", self._details())
            warnings.warn(UnknownVerdictWarning(f"{self.nodeid}: the verdict is unknown: {self.out}"), stacklevel=1)

    def teardown(self) -> None:
        keep = read_settings(self.config).keep
        if keep == "never" or (keep == "on-failure" and self.status == HELD):
            shutil.rmtree(self.out, ignore_errors=True)
            for folder in (self.out.parent, self.out.parent.parent):  # nothing of ours stays in the person's project
                with contextlib.suppress(OSError):
                    folder.rmdir()

    @property
    def _called(self) -> str:
        return f"{self.path.name} seed {self.seed}"

    def _details(self) -> str:
        """The failure explained, and how to see it again."""
        said = self.log.read_text(errors="replace").splitlines()[-LOG_LINES:] if self.log.exists() else []
        blocks = [*self._explained(), f"run directory: {self.out}", "its output:\n" + "\n".join(said)]
        runs = [str(path.parent) for path in sorted(self.out.rglob("run.json"))]
        again = f"kcontroller replay {runs[0]}" if runs else f"kcontroller campaign run {self.path} --seeds {self.seed}"
        if not runs and (backend := read_settings(self.config).backend) != "process":
            again += f" --backend {backend}"
        return "\n\n".join([*blocks, f"again: {again}"])

    def _explained(self) -> Iterator[str]:
        from kcontroller_chaos.explain import failures, logs
        from kcontroller_chaos.rundir import RunDirectory, read_json
        from pytest_kcontroller.errors import KControllerError

        for path in sorted(self.out.rglob("verdicts.json")):
            try:
                drawn = path.parent / "timeline.json"
                windows = read_json(drawn)["windows"] if drawn.exists() else []
                yield failures(read_json(path), windows)
                if windows:
                    start = RunDirectory.open(path.parent).start
                    sections = logs(path.parent / "logs", start, windows[0]["from_us"], windows[0]["to_us"])
                    yield "\n".join(f"--- {title}\n{text}" for title, text in sections)
            except (KControllerError, KeyError, TypeError, ValueError) as bad:
                yield f"{path.parent} cannot be read: {bad}"

    def _known(self) -> list[str]:
        """Why its violations are known ([[expected]]); such a run has the status of one that held."""
        found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(self.out.rglob("verdicts.json"))]
        return [reason for verdicts in found for reason in verdicts.get("expected", ())]

    def repr_failure(  # type: ignore[override]  # one style
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> str | TerminalRepr:
        return str(excinfo.value) if isinstance(excinfo.value, CampaignError) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class CampaignError(Exception):
    """What a failed item shows instead of a traceback."""

    def __init__(self, what: str, details: str) -> None:
        super().__init__(f"{what}\n{details}")


async def _played(command: list[str], log: Path) -> int:
    """The command's exit status. Cancelled (Ctrl-C), it lets the run heal and end itself first."""
    import asyncio

    from pytest_kcontroller.cluster.processes import Supervised
    from pytest_kcontroller.cluster.timing import scaled

    child = await Supervised.start("the campaign", command, log=log)
    try:
        return await child.wait()
    except asyncio.CancelledError:
        child.signal(signal.SIGINT)
        try:
            async with asyncio.timeout(scaled(INTERRUPT_S)):
                await child.wait()
        except TimeoutError:
            await child.kill()
        raise
