"""The list of Kafka's settings is what the code reads, no more and no less."""

from __future__ import annotations

import re
from pathlib import Path

import pytest_kcontroller
from pytest_kcontroller.model.kafka_config import KAFKA_CONFIG

READ = re.compile(r'config\.get\("([a-z.]+)"|(?:_milliseconds|_whole)\(settings, "([a-z.]+)"')


def test_every_setting_that_a_node_reads_is_listed() -> None:
    package = Path(pytest_kcontroller.__file__).parent
    read = {
        first or second
        for folder in ("node", "controller", "broker")
        for file in (package / folder).rglob("*.py")
        for first, second in READ.findall(file.read_text())
    }
    assert read == {key.name for key in KAFKA_CONFIG}
