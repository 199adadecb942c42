"""What makes one code base run for real and in simulation: a node is `async def main(runtime)` and touches nothing else.

ports       what a runtime gives: clock, rng, ZooKeeper, transport, disk, holds, recorder
nursery     ordered tasks (asyncio's own sets are ordered by address)
holds       named places where a task can be made to wait
real        the real runtime: asyncio, kazoo, sockets, files
scheduler   one event loop per simulated process on one clock
"""
