"""Whom to believe on the web."""

import ssl
from functools import cache

import httpx


@cache
def certificates() -> ssl.SSLContext:
    """For all calls of this process: each context costs 20 ms. Load it off the event loop."""
    return httpx.create_ssl_context()
