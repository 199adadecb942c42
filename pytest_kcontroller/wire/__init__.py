"""Kafka's wire protocol between controller and brokers, in Kafka's own bytes.

errors      error codes
messages    the messages and which API they belong to
codec       their bodies as bytes
frames      length-prefixed frames on a stream
client      one request in flight to one address
server      decodes requests, calls handlers, answers
"""
