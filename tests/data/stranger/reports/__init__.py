MINE = "reports"
