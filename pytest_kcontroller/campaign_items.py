"""Campaign files as test items: one per file and seed, `smoke.toml::seed-3`.

They are collected from `kc_campaigns` in a run without paths on the command line, and where a campaign file itself is such a
path: whoever names a folder or a test wants that and not ten minutes of chaos.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_kcontroller.options import KcSettings, read_settings

if TYPE_CHECKING:
    from _pytest._code.code import TerminalRepr

files_key = pytest.StashKey[frozenset[Path]]()
runs_key = pytest.StashKey[Path]()


class UnknownVerdictWarning(UserWarning):
    """A campaign could not be judged (--kc-unknown=warn)."""


def add_to_arguments(config: pytest.Config, settings: KcSettings) -> None:
    """Decides which campaign files this run collects; those that its folders do not contain become arguments."""
    known = sorted({path for glob in settings.campaigns for path in settings.rootpath.glob(glob) if path.is_file()})
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
    """One run. It happens in the set-up phase, so that a failing environment is an error; its verdict is the test."""

    def __init__(self, *, campaign: Any, seed: int, **rest: Any) -> None:
        super().__init__(**rest)
        self.campaign, self.seed = campaign, seed
        self.add_marker("chaos")

    def setup(self) -> None:
        raise NotImplementedError

    def runtest(self) -> None:
        raise NotImplementedError
