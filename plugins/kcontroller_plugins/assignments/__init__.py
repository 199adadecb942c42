"""Stock replica assignment strategies, one file each, offered through the public hook."""
