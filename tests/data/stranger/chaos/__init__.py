MINE = "chaos"
