"""From a campaign file and a seed to a schedule: values only, nothing runs.

Public: `load_campaign` and the `Campaign` that it gives.
"""

from kcontroller_chaos.campaign.file import Campaign, load_campaign

__all__ = ["Campaign", "load_campaign"]
