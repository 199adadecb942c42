"""The messages that we speak, in the format of Kafka's own message definitions: two files are an API (wire/generate)."""
