from collections.abc import Callable

class KazooRetry:
    # kazoo has a whole number as the default of `backoff`, and multiplies by any number
    def __init__(
        self,
        max_tries: int | None = ...,
        delay: float = ...,
        backoff: float = ...,
        max_jitter: float = ...,
        max_delay: float = ...,
        ignore_expire: bool = ...,
        *,
        sleep_func: Callable[[float], object] = ...,
    ) -> None: ...
    def copy(self) -> KazooRetry: ...
