"""Child processes: each under a supervisor of its own, so that none outlives its owner, and each marked as ours.

processes    starts them, waits until they are ready, ends them
forked       asks for a program of ours as a fork of fork_server, which has imported what these are made of
supervisor   the process between owner and child: ends the child's group when the owner is gone
"""
