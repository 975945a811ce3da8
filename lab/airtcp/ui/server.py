# SPDX-License-Identifier: GPL-2.0-only
"""The server of the pages: on 127.0.0.1 only, for those who know the random token in its URL."""

import hmac
import secrets
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from airtcp.errors import AirtcpError, InputError
from airtcp.ui import pages
from airtcp.ui.pages import Page
from airtcp.ui.sweeps import Sweeps

ADDRESS = "127.0.0.1"

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


class Server(ThreadingHTTPServer):
    """Serves the sweeps in a directory; url: its first page.

    Raises InputError if there is no such directory, or if the port is taken.
    """

    daemon_threads = True

    def __init__(self, root: Path, port: int = 0) -> None:
        if not root.is_dir():
            raise InputError(f"{root}: no such directory")
        self.sweeps = Sweeps(root)
        self.token = secrets.token_urlsafe(24)
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise InputError(f"--port {port}: {error.strerror}") from None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser may close the connection before it has the whole answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def host(self) -> str:
        return f"{ADDRESS}:{self.server_port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "airtcp"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        page = self._page()
        self.send_response(page.status)
        self.send_header("Content-Type", page.kind)
        self.send_header("Content-Length", str(len(page.body)))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(page.body)

    def _page(self) -> Page:
        """The page for the request. Other Host names are refused, against DNS rebinding."""
        not_found = Page(b"not found\n", "text/plain", HTTPStatus.NOT_FOUND)
        try:
            parts = urlsplit(self.path)
        except ValueError:  # such as http://[
            return not_found
        token, _, rest = parts.path.removeprefix("/").partition("/")
        known = hmac.compare_digest(token.encode(), self.server.token.encode())
        if not known or self.headers["Host"] != self.server.host:
            return not_found
        given = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        try:
            return pages.page(self.server.sweeps, f"/{token}", unquote(rest), given)
        except AirtcpError as error:
            return pages.problem(f"/{token}", str(error))
        # Such as a path that is too long, or a loop of links (RuntimeError before Python 3.13).
        except (OSError, RuntimeError, ValueError) as error:
            return pages.problem(f"/{token}", f"{unquote(rest)}: {error}")

    def log_message(self, *_arguments: object) -> None:
        """Requests are not logged."""
