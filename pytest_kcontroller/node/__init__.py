"""One node: a broker and a candidate controller in one process, as in Kafka.

settings    what a node is told at its start
main        `async def main(runtime, settings)`: how broker and controller are put together
process     the real process around it: `python -m pytest_kcontroller.node SETTINGS.json`
control     the control socket: status, hold, release
"""
