"""Creates certificate authorities, certificates and keys with openssl, for tests."""

import datetime
import os
import subprocess

_CA_CONFIGURATION = """
[ca]
default_ca = tests
[tests]
database = {folder}/index
serial = {folder}/serial
new_certs_dir = {folder}
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
"""


def _openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def _write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _after_now(seconds):
    """A time relative to now, in the form that `openssl ca` takes."""
    time = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return time.strftime("%Y%m%d%H%M%SZ")


class Authority:
    """A certificate authority whose files are in `folder`."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.certificate = self._path(f"{name}.pem")
        self.key = self._path(f"{name}.key")
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                 "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", self.key,
                 "-out", self.certificate)
        # State that `openssl ca` needs. `openssl x509` cannot set times, only days.
        state = self._path(f"{name}.state")
        os.makedirs(state, exist_ok=True)
        _write(os.path.join(state, "index"), "")
        _write(os.path.join(state, "serial"), "01\n")
        self._configuration = os.path.join(state, "configuration")
        _write(self._configuration, _CA_CONFIGURATION.format(folder=state))

    def _path(self, name):
        return os.path.join(self.folder, name)

    def issue(self, name, host="localhost", begin_seconds=-60, end_seconds=86400):
        """Issues a certificate for a loopback server or a client: (certificate, key) as paths. The
        times of its validity are relative to now."""
        key, request = self._path(f"{name}.key"), self._path(f"{name}.csr")
        certificate, extensions = self._path(f"{name}.pem"), self._path(f"{name}.ext")
        _write(extensions, f"subjectAltName=DNS:{host},IP:127.0.0.1\n")
        _openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        _openssl("ca", "-batch", "-notext", "-config", self._configuration, "-in", request,
                 "-cert", self.certificate, "-keyfile", self.key, "-extfile", extensions,
                 "-startdate", _after_now(begin_seconds), "-enddate", _after_now(end_seconds),
                 "-out", certificate)
        return certificate, key

    def issue_expired(self, name):
        return self.issue(name, begin_seconds=-3600, end_seconds=-60)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def replace(path, content):
    """Replaces the content of a file atomically."""
    with open(path + ".new", "wb") as file:
        file.write(content)
    os.rename(path + ".new", path)
