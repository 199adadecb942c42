"""Kafka's wire protocol between controller and brokers, in Kafka's own bytes.

schemas     the messages as data: two files for each API
generate    makes classes with their layouts of them
messages    what it made, and the table of APIs
message     what all messages have in common
primitives  Kafka's primitive types as bytes
codec       bodies as bytes
headers     what stands before a body
topic_ids   as text and as bytes
errors      error codes
frames      length-prefixed frames on a stream
client      one request in flight to one address
refusals    answers that say no more than an error
server      decodes requests, calls handlers, answers
"""
