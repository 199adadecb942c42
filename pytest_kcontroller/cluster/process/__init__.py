"""The backend `process`: children under a supervisor, nodes, links through proxies."""
