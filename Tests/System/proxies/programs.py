"""nginx and HAProxy as deploy/ configures them, on separate ports."""

from __future__ import annotations

import os

from harness.program import Program, configuration


def servers(ports: list[int]) -> dict[str, str]:
    """The changes that replace the ports in deploy/ by those of the processes."""
    return {f"127.0.0.1:{8081 + index}": f"127.0.0.1:{port}" for index, port in enumerate(ports)}


class Nginx(Program):
    """nginx with deploy/nginx.conf."""

    def __init__(self, program: str, scratch: str) -> None:
        super().__init__(scratch, "nginx")
        self._program, self._home = program, f"{scratch}/nginx"
        os.makedirs(self._home)

    async def begin(self, ports: list[int], buffers: bool = False) -> None:
        """Starts it in front of the processes on these ports; with `buffers` it holds back what they stream."""
        changes = servers(ports) | {"listen 80;": f"listen 127.0.0.1:{self.port};"}
        if buffers:
            # nginx passes chunks on as they come, and fills buffers with an answer of HTTP/1.0, which is its default.
            changes["proxy_http_version 1.1;"] = "proxy_http_version 1.0; proxy_ignore_headers X-Accel-Buffering;"
        site = configuration("nginx.conf", changes)
        paths = "".join(f"{name}_temp_path {self._home}/{name}; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(f"{self._home}/nginx.conf", "w", encoding="utf-8") as file:
            file.write(f"daemon off; worker_processes 2; pid {self._home}/pid; error_log stderr info;\n"
                       + ("user root;\n" if os.geteuid() == 0 else "")
                       + f"events {{ worker_connections 4096; }}\nhttp {{ access_log off; {paths}\n{site}\n}}\n")
        await self.launch([self._program, "-p", self._home, "-c", f"{self._home}/nginx.conf", "-e", "stderr"])


    def another(self) -> Nginx:
        """One on another port."""
        directory = f"{self._home}-another"
        os.makedirs(directory)
        return Nginx(self._program, directory)


class HAProxy(Program):
    """HAProxy with deploy/haproxy.cfg."""

    def __init__(self, program: str, scratch: str) -> None:
        super().__init__(scratch, "haproxy")
        self._program, self._file = program, f"{scratch}/haproxy.cfg"

    async def begin(self, ports: list[int]) -> None:
        """Starts it in front of the processes on these ports."""
        changes = servers(ports) | {"bind :80\n": f"bind 127.0.0.1:{self.port}\n"}
        with open(self._file, "w", encoding="utf-8") as file:
            file.write(configuration("haproxy.cfg", changes))
        await self.launch([self._program, "-db", "-f", self._file])
