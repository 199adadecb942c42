from collections.abc import Callable
from typing import Any

class AsyncResult:
    def __init__(
        self, handler: Any, condition_factory: Callable[[], Any], timeout_factory: Callable[[], Exception]
    ) -> None: ...
