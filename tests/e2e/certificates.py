"""Creates certificate authorities, certificates and keys with openssl, for tests."""

import os
import subprocess


def _openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


class Authority:
    """A certificate authority whose files are in `folder`."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.certificate = self._path(f"{name}.pem")
        self.key = self._path(f"{name}.key")
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                 "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", self.key,
                 "-out", self.certificate)

    def _path(self, name):
        return os.path.join(self.folder, name)

    def issue(self, name, expired=False, host="localhost"):
        """Issues a certificate for a loopback server or a client: (certificate, key) as paths."""
        key, request = self._path(f"{name}.key"), self._path(f"{name}.csr")
        certificate, extensions = self._path(f"{name}.pem"), self._path(f"{name}.ext")
        with open(extensions, "w", encoding="ascii") as file:
            file.write(f"subjectAltName=DNS:{host},IP:127.0.0.1\n")
        _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        _openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key,
                 "-CAcreateserial", "-days", "-1" if expired else "2", "-extfile", extensions,
                 "-out", certificate)
        return certificate, key


def read(path):
    with open(path, "rb") as file:
        return file.read()


def replace(path, content):
    """Replaces the content of a file atomically."""
    with open(path + ".new", "wb") as file:
        file.write(content)
    os.rename(path + ".new", path)
