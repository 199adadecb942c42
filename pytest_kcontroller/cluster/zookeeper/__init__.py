"""Real ZooKeeper servers: in a JVM of ours or in a container."""

EMBEDDED, CONTAINER = "embedded", "container"
PLACES = (EMBEDDED, CONTAINER)
"""Where it may run: a JVM of ours, or a container."""
