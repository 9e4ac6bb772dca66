"""What graphs say of themselves for Studio's drawing, beside their edges."""


def fails_to(node: str, *others: str) -> tuple[str, ...]:
    """A node's `destinations`: its error handler, and wherever else its own Commands go.

    LangGraph draws a handler without a link, and a part that holds an unlinked node not at all.
    """
    return (f"__error_handler__{node}", *others)
