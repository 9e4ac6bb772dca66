"""What the Agent Server puts in front of its routes: the check of who asks."""

from starlette.applications import Starlette
from starlette.middleware import Middleware

from contend.api.requests import AllowedOrigins, RequestGuard
from contend.settings import load_settings

app = Starlette(middleware=[Middleware(RequestGuard, load_settings(), AllowedOrigins.of_server())])
