"""This project's own idea of chaos."""

HOSTS = ("a", "b")
