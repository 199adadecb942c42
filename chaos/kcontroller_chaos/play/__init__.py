"""Playing a schedule on a cluster: engine, faults in time, targets, triggers."""
