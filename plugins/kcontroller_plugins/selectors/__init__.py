"""Stock leader selectors, one file each, offered through the public hook."""
