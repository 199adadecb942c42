"""What can be named in a campaign: the faults and invariants that plugins offer, ours and a user's.

Public: `load_catalogue` and the `Catalogue` that it gives.
"""

from kcontroller_chaos.catalogue.loading import Catalogue, load_catalogue

__all__ = ["Catalogue", "load_catalogue"]
