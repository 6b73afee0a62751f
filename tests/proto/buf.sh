#!/bin/sh
# buf.sh <directory to install buf into> <arguments of buf>...
#
# Runs buf from PATH, or from npm, which installs it on first use. If neither is
# possible, exits with 77, which CTest reports as skipped, or with 1 if
# LOCUS_REQUIRE_TOOLS is set.
set -eu
tools=$1
shift
version=1.74.0

skip() {
  echo "skipped: $1"
  [ -z "${LOCUS_REQUIRE_TOOLS:-}" ] || exit 1
  exit 77
}

if command -v buf >/dev/null 2>&1; then
  exec buf "$@"
fi
buf=$tools/node_modules/.bin/buf
if [ ! -x "$buf" ]; then
  command -v npm >/dev/null 2>&1 || skip "neither buf nor npm is installed"
  mkdir -p "$tools"
  # Tests that run at the same time install it once.
  flock "$tools" timeout 120 npm install --silent --no-audit --no-fund \
    --no-save --prefix "$tools" "@bufbuild/buf@$version" \
    >"$tools/npm.log" 2>&1 ||
    skip "npm could not install buf; see $tools/npm.log"
fi
exec "$buf" "$@"
