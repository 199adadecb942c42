"""Where a run is opened on a backend."""
