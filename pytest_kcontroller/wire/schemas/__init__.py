"""Message layouts that Kafka's clients do not carry, for the schema-driven codec; only the versions that Kafka 3.9 sends."""
