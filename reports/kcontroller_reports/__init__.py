"""From many run directories to one report, with Spark: `kcontroller report`.

Nothing here is to be imported by others; what is promised are the files that a report consists of (docs/report.md).
"""
