"""Parse the address of an OpenAI-compatible endpoint in any pasted form, and build a client for it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from contend.connections import certificates, proxy_for
from contend.settings import service_address

if TYPE_CHECKING:
    import httpx2

OPENAI_HOST = "api.openai.com"
_SHORTEST_SECRET = 8
_CHAT_PATH = "/chat/completions"


class EndpointAddress(NamedTuple):
    """Where an endpoint is, and what each request carries. Clients log `url`, so it holds no login and no key."""

    url: str
    query: dict[str, str]
    login: tuple[str, str] | None
    headers: dict[str, str]
    key: str | None

    @classmethod
    def parse(
        cls, address: str, name: str, *, key: str | None = None, headers: Mapping[str, str] | None = None
    ) -> Self:
        """Parse an address, with or without `/chat/completions` at its end, a query and a login.

        Azure deployments take the key in a header of their own.

        Raises:
            InputError: not an http(s) address with a host; `name` is the setting to mend.
        """
        parts = urlsplit(service_address(address, name, example="http://127.0.0.1:8080/v1"))
        path = parts.path.rstrip("/").removesuffix(_CHAT_PATH)
        login = (unquote(parts.username or ""), unquote(parts.password or ""))
        url = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, "", ""))
        of_azure = (parts.hostname or "").endswith(".azure.com") or "/openai/deployments/" in path
        own = {"api-key": key} if key and of_azure else {}
        return cls(url, dict(parse_qsl(parts.query)), login if any(login) else None, {**own, **(headers or {})}, key)

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def secrets(self) -> list[str]:
        """Values that must not appear in errors. Short headers are not secrets."""
        headers = [value for value in self.headers.values() if len(value) >= _SHORTEST_SECRET]
        return [secret for secret in (self.key, *(self.login or ())[1:], *headers) if secret]


def open_client(address: EndpointAddress, **options: Any) -> "httpx2.AsyncClient":  # noqa: ANN401 - the client's own
    """A client with the proxy and certificates of the environment. Blocking: not on the event loop.

    Raises:
        InputError: the environment names an unusable proxy or certificates.
    """
    import httpx2  # noqa: PLC0415 - heavy

    proxy = proxy_for(address.url)
    return httpx2.AsyncClient(
        auth=address.login, verify=certificates(), proxy=proxy.url if proxy else None, trust_env=False, **options
    )
