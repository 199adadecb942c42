"""This project's own reports have nothing to do with ours."""


def weekly(failures: int) -> str:
    return f"{failures} failures this week"
