"""A client of the HTTP research API, as programs use it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from fakes.servers import Server


@dataclass(frozen=True)
class Api:
    """A client of the research API, with the server behind it."""

    server: Server
    http: httpx.Client

    def start(self, theme: str, **request: object) -> str:
        """A research's id."""
        answer = self.http.post("/research", json={"theme": theme, **request})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["research_id"])

    def get(self, path: str) -> Any:  # noqa: ANN401 - any JSON
        answer = self.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def events(self, research_id: str, *, after: int | None = None) -> Iterator[dict[str, Any]]:
        """As they come; those without an id are of type `status`."""
        headers = {} if after is None else {"Last-Event-ID": str(after)}
        with self.http.stream("GET", f"/research/{research_id}/events", headers=headers) as stream:
            assert stream.status_code == 200
            assert stream.headers["content-type"].startswith("text/event-stream")
            kind = ""
            for line in stream.iter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    yield {"type": kind, **json.loads(value)}

    def until(self, research_id: str, kind: str, **values: object) -> dict[str, Any]:
        """The first event of a type with such values."""
        return next(
            event
            for event in self.events(research_id)
            if event["type"] == kind and all(event.get(name) == value for name, value in values.items())
        )


@contextmanager
def research_api(server: Server) -> Iterator[Api]:
    with httpx.Client(base_url=server.url, timeout=240) as http:
        yield Api(server, http)


def finished_research(api: Api) -> str:
    """The id of a new one, by one team."""
    research = api.start("How does resume work after a crash?", options={"teams": ["alpha"], "learn": False})
    api.until(research, "status", status="completed")
    return research
