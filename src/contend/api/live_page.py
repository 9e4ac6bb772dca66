"""The live page at `/app/`: files that hold no data. What it shows it asks of the API, like any other client."""

from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

_ONLY_ITS_OWN = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect")),
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


class LivePage(StaticFiles):
    """The page's files, which load nothing from elsewhere and run no script of a report's."""

    def __init__(self) -> None:
        super().__init__(directory=Path(__file__).with_name("page"), html=True)

    async def get_response(self, path: str, scope: MutableMapping[str, Any]) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Content-Security-Policy"] = _ONLY_ITS_OWN
        response.headers["X-Content-Type-Options"] = "nosniff"
        # Asked for again each time, so that a newer contend is never shown by an older page.
        response.headers["Cache-Control"] = "no-cache"
        return response
