"""The backend `sim`: a cluster in the simulated world of pytest_kcontroller.sim."""
