"""The simulated world: what a node may touch, in virtual time (ARCHITECTURE.md, Runtime)."""
