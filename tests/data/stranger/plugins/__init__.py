MINE = "plugins"
