"""Time that a test sets."""


class Now:
    """Monotonic seconds. It is also a fault of the vendors that leaves a reply as it is and takes its time."""

    def __init__(self, seconds: float = 0.0, *, takes: float = 0.0) -> None:
        self.seconds = seconds
        self.takes = takes

    def __call__(self) -> float:
        return self.seconds

    def slow(self, reply: str) -> str:
        self.seconds += self.takes
        return reply
