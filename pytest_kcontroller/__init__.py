"""pytest fixtures, plugins and chaos campaigns around a ZooKeeper-based controller like Apache Kafka's."""

__version__ = "0.1.0"
