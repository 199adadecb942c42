"""Apache Kafka's own releases, in ZooKeeper mode: to compare with, and to be brokers beside ours.

releases  what a release needs besides its own jars, as a table
jars      where the jars of a release are: a directory that somebody names, or a cache that Maven fills
broker    one broker, as a supervised process
tools     the release's own command-line tools
"""

RELEASE_VARIABLE = "KCONTROLLER_KAFKA_RELEASE"
"""Which release the nodes of a cluster are."""
