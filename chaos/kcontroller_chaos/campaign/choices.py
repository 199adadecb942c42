"""That plugins offer what `[cluster]` of a campaign file chooses by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from kcontroller_chaos.campaign.specs import ClusterSpec
from kcontroller_chaos.catalogue import Catalogue
from kcontroller_chaos.catalogue.loading import MUTANTS
from pytest_kcontroller.errors import UsageError


def wrong_choice(cluster: ClusterSpec, catalogue: Catalogue) -> tuple[str, str, str, str] | None:
    """Key, what is wrong, a hint, and the key of the table that the key is, or empty; None: all can be chosen."""
    for key, inner, choose in _choices(cluster, catalogue):
        try:
            choose()
        except UsageError as wrong:
            hint = "; ".join(filter(None, (wrong.hint, "is a --plugin missing?")))
            return key, wrong.what, hint, inner
    return None


def _choices(cluster: ClusterSpec, catalogue: Catalogue) -> Iterator[tuple[str, str, Callable[[], object]]]:
    plugins = catalogue.plugins
    yield "assignment", "", partial(plugins.assignments.make, cluster.assignment)
    for reason, choice in cluster.selectors.items():
        yield "selectors", reason, partial(plugins.selectors.make, choice)
    if cluster.kafka_compat:  # who names none need not wait until all mutants are imported
        yield "kafka_compat", "", partial(plugins.also(MUTANTS).kafkas, cluster.kafka_compat)
