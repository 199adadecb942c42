"""An embedded toxiproxy: an asyncio server with the HTTP API of Shopify's toxiproxy 2.12, for machines that have none.

toxics   what happens to a direction of a connection
proxy    listeners, connections, and which toxics they have
api      the HTTP API; `python -m pytest_kcontroller.cluster.toxiproxy --port 0`
"""
