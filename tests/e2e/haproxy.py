"""Runs HAProxy with deploy/haproxy/public.cfg in front of a locusd, for tests."""

import os
import pathlib
import socket
import subprocess
import time
import urllib.error
import urllib.request

from certificates import Authority

CONFIGURATION = (pathlib.Path(__file__).resolve().parents[2] / "deploy" / "haproxy" /
                 "public.cfg")
START_SECONDS = 6


def free_ports(count):
    """Ports that are free at the moment."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class PublicFace:
    """A HAProxy with TLS. As a context manager, it waits until locusd is up, and stops HAProxy at
    the end. `settings` are variables of public.cfg, without the prefix LOCUS_."""

    def __init__(self, folder, daemon, **settings):
        self.port, self.stats_port = free_ports(2)
        self.address = f"127.0.0.1:{self.port}"
        self.authority = Authority(folder, "public-authority")
        self.ca = self.authority.certificate
        self.process = None
        self.log_path = os.path.join(folder, "haproxy.log")
        values = {"LISTEN": self.address, "STATS": f"127.0.0.1:{self.stats_port}",
                  "CERT": self._pem(folder), "SERVER": f"127.0.0.1:{daemon.grpc_port}",
                  "SERVER_HTTP": f"127.0.0.1:{daemon.http_port}", **settings}
        self.environment = {**os.environ,
                            **{f"LOCUS_{name}": str(value) for name, value in values.items()}}

    def _pem(self, folder):
        """Writes certificate and key into one file, as HAProxy expects them."""
        path = os.path.join(folder, "haproxy.pem")
        with open(path, "w", encoding="ascii") as out:
            for part in self.authority.issue("haproxy"):
                with open(part, encoding="ascii") as file:
                    out.write(file.read())
        return path

    def check(self):
        """Lets HAProxy check the configuration."""
        return subprocess.run(["haproxy", "-c", "-f", CONFIGURATION], env=self.environment,
                              capture_output=True, text=True, check=False, timeout=30)

    def __enter__(self):
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(["haproxy", "-db", "-f", CONFIGURATION],
                                            env=self.environment, stderr=log, stdout=log)
        end = time.monotonic() + START_SECONDS
        while not self.is_up():
            if time.monotonic() > end or self.process.poll() is not None:
                self.__exit__()
                with open(self.log_path, encoding="utf-8") as log:
                    raise AssertionError("HAProxy did not start:\n" + log.read())
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)

    def is_up(self):
        """Whether HAProxy considers locusd up."""
        line = 'haproxy_server_status{proxy="locus",server="locus",state="UP"} 1'
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.stats_port}/metrics",
                                        timeout=10) as response:
                return line in response.read().decode().splitlines()
        except urllib.error.URLError:
            return False
