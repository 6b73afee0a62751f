#!/bin/sh
# buf_lint.sh <proto directory> <directory to install buf into>
#
# Lints the contract with the STANDARD rules of buf. Uses buf from PATH, or
# installs it from npm on first use. If neither is possible, exits with 77, which
# CTest reports as skipped, or with 1 if LOCUS_REQUIRE_TOOLS is set.
set -eu
proto=$1
tools=$2
version=1.74.0

skip() {
  echo "skipped: $1"
  [ -z "${LOCUS_REQUIRE_TOOLS:-}" ] || exit 1
  exit 77
}

if command -v buf >/dev/null 2>&1; then
  exec buf lint "$proto"
fi
buf=$tools/node_modules/.bin/buf
if [ ! -x "$buf" ]; then
  command -v npm >/dev/null 2>&1 || skip "neither buf nor npm is installed"
  mkdir -p "$tools"
  timeout 120 npm install --silent --no-audit --no-fund --no-save \
    --prefix "$tools" "@bufbuild/buf@$version" >"$tools/npm.log" 2>&1 ||
    skip "npm could not install buf; see $tools/npm.log"
fi
exec "$buf" lint "$proto"
