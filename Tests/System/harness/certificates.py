"""Certificates with dates of any kind, and servers with TLS that lie about the time of day."""

from __future__ import annotations

import base64
import email.utils
import http.server
import json
import os
import ssl
import subprocess
import threading
import time
from typing import Any

DAY = 86_400
CONFIGURATION = """[ca]
default_ca = own
[own]
database = {0}/index
new_certs_dir = {0}
rand_serial = yes
default_md = sha256
policy = any
x509_extensions = names
unique_subject = no
[any]
commonName = supplied
[req]
prompt = no
distinguished_name = subject
[subject]
CN = localhost
[names]
subjectAltName = DNS:localhost, IP:127.0.0.1
basicConstraints = critical, CA:TRUE
"""


class Certificate:
    """A certificate that signs itself, for localhost, and its key."""

    def __init__(self, directory: str, begin: float, end: float) -> None:
        """It is valid from `begin` to `end`, in days from now."""
        os.mkdir(directory)
        self.path, self.key = f"{directory}/certificate.pem", f"{directory}/key.pem"
        with open(f"{directory}/configuration", "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(directory))
        open(f"{directory}/index", "w", encoding="utf-8").close()
        options = ["-config", f"{directory}/configuration"]
        self._openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.key,
                      "-out", f"{directory}/request", *options)
        dates = [time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + days * DAY)) for days in (begin, end)]
        self._openssl("ca", "-batch", "-notext", "-selfsign", "-keyfile", self.key, "-in", f"{directory}/request", "-out", self.path,
                      "-startdate", dates[0], "-enddate", dates[1], *options)

    @staticmethod
    def _openssl(*arguments: str) -> bytes:
        run = subprocess.run(["openssl", *arguments], capture_output=True, check=False)
        assert run.returncode == 0, run.stderr.decode()
        return run.stdout

    def public_key(self) -> dict[str, str]:
        """The public key, as issuers publish theirs."""
        point = self._openssl("pkey", "-in", self.key, "-pubout", "-outform", "DER")[-64:]
        x, y = (base64.urlsafe_b64encode(half).rstrip(b"=").decode() for half in (point[:32], point[32:]))
        return {"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "one", "x": x, "y": y}


class SecureServer:
    """A server with TLS that answers each GET and POST with one document."""

    def __init__(self, certificate: Certificate, document: Any, ahead: float = 0) -> None:
        """Its clock is `ahead` of this machine's by that many seconds."""

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps(document).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def date_time_string(self, timestamp: float | None = None) -> str:
                return email.utils.formatdate(time.time() + ahead, usegmt=True)

            def log_message(self, *_: Any) -> None:
                pass

        class QuietServer(http.server.ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                """A client that refuses the certificate is no fault of the test."""

        self._server = QuietServer(("127.0.0.1", 0), Handler)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.replace(certificate)
        # The handshake is made in the thread of its connection.
        self._server.socket = self._context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://localhost:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def replace(self, certificate: Certificate) -> None:
        """Has new connections meet another certificate."""
        self._context.load_cert_chain(certificate.path, certificate.key)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
