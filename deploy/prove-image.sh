#!/usr/bin/env bash
# Builds the container image, runs it as a cluster would (no root, no
# capabilities, nothing writable) and proves what it promises. Arguments are
# passed on to the engine's build. Takes docker or podman, or what ENGINE says.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for name in docker podman; do
  [[ ${ENGINE:-} ]] || ! "$name" info &>/dev/null || ENGINE=$name
done
export ENGINE=${ENGINE:?"neither docker nor podman answers"}

proved() { printf 'ok: %s\n' "$*"; }
die() {
  printf 'FAILED: %s\n' "$*" >&2
  "$ENGINE" logs "$container" 2>&1 | tail -n 20 >&2
  exit 1
}
inside() { "$ENGINE" exec "$container" "$@"; }
inspect() { "$ENGINE" inspect --format "$1" "$container"; }
megabytes() { awk '{ printf "%.1f MB", $1 / 1e6 }' <<<"$1"; }

./run image "$@"
container=$("$ENGINE" run --detach --read-only --cap-drop ALL \
  --security-opt no-new-privileges locus)
trap '"$ENGINE" rm --force "$container" >/dev/null' EXIT

for attempt in {1..100}; do
  inside locus health --server 127.0.0.1:50051 &>/dev/null && break
  [[ $attempt != 100 ]] || die "not healthy after 10 seconds"
  sleep 0.1
done
proved "healthy: $(inside locus health --server 127.0.0.1:50051 | tr '\n' ' ')"

[[ $(inspect '{{json .Config.Healthcheck}}') == *'"locus"'* ]] ||
  die "the image has no health check"
proved "has a health check"

[[ $(inside id -u):$(inside id -g) == 65532:65532 ]] || die "runs as $(inside id)"
proved "runs as $(inside id)"

inside grep -q ' / [^ ]* ro[, ]' /proc/mounts || die "the root is writable"
proved "runs on a read-only root file system"

inside locus attend --server 127.0.0.1:50051 --scheme rope --dim 16 --heads 1 \
  --tokens 'the cat sat on the mat' || die "a call failed"
proved "answers a call"

scrape='exec 3<>/dev/tcp/127.0.0.1/9464
        printf "GET /metrics HTTP/1.0\r\n\r\n" >&3; cat <&3'
metrics=$(inside bash -c "$scrape")
[[ $metrics == *grpc_server_handled_total*Attend* ]] || die "no metrics: $metrics"
proved "was scraped: $(wc -l <<<"$metrics") lines"

bytes=$("$ENGINE" export "$container" | wc -c)
((bytes < 150000000)) || die "it unpacks to $(megabytes "$bytes")"
proved "unpacks to $(megabytes "$bytes")"

"$ENGINE" stop --time 30 "$container" >/dev/null
[[ $(inspect '{{.State.ExitCode}}') == 0 ]] ||
  die "SIGTERM ended it with exit code $(inspect '{{.State.ExitCode}}')"
proved "SIGTERM drained it: exit code 0"
