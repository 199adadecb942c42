"""An embedded toxiproxy: an asyncio server with the HTTP API of Shopify's toxiproxy 2.12, for machines that have none.

pipes       what chunks of bytes flow through
toxics      what happens to them in one direction of a connection
connection  two sockets, and a line of toxics for each direction
proxy       a listener, its connections, and which toxics they have
addresses   where it listens and connects to: texts as Go reads them
bodies      JSON as Go reads it
api         the HTTP API; `python -m pytest_kcontroller.cluster.toxiproxy --port 0`

docs/toxiproxy.md has what differs from the real server.
"""
