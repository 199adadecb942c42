"""The stock plugins: leader selectors and replica assignment strategies, through the public hooks alone.

Nothing here is to be imported: plugins are chosen by name. Read them as examples.
"""
