"""How plugins are found, and how what they offer is chosen by name."""
