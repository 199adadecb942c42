"""Clusters made real: the contract (contract.py), what all have in common (observed.py), and one package per backend."""
