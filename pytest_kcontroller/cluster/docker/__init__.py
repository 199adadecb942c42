"""Containers: labelled, on loopback, gone with their owner."""
