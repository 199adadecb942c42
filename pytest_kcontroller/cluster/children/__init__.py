"""Child processes: each under a supervisor of its own, so that none outlives its owner, and each marked as ours.

processes    starts them, waits until they are ready, ends them
supervisor   the process between owner and child: ends the child's group when the owner is gone
"""
