"""Real ZooKeeper servers: in a JVM of ours or in a container, alone or as an ensemble."""

EMBEDDED, CONTAINER = "embedded", "container"
PLACES = (EMBEDDED, CONTAINER)
"""Where it may run: a JVM of ours, or a container."""

SIZES = (1, 3)
"""How many there may be: two are no safer than one, and five take five JVMs to show what three show."""
