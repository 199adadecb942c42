"""What is decided, without I/O: values and the context in, values out.

leader   who leads: a new partition's first leader; selectors asked, their answers checked, the stock rule behind them
isr      who is in sync: a leader's AlterPartition, and a replica that leaves
"""
