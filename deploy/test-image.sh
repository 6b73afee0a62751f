#!/usr/bin/env bash
# Builds the container image, runs it locked down as a cluster would (not root, no
# capabilities, read-only root) and verifies its documented properties. Arguments
# are passed to the engine's build. BUILD=no uses the existing image. TWICE=yes
# builds the image twice without a cache and compares the results. ENGINE selects
# docker, podman or buildah; the default is the first one that responds.
#
# buildah builds images but does not run containers: with it, the image's root
# becomes the root of an ordinary process (chroot), which verifies a little less.
# Lines that begin with "not tested" name the properties that were not tested.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for name in docker podman buildah; do
  [[ ${ENGINE:-} ]] || ! "$name" info &>/dev/null || ENGINE=$name
done
export ENGINE=${ENGINE:?"none of docker, podman and buildah responds"}
work=$(mktemp -d)
max_bytes=80000000
memory=$((1 << 30)) # memory limit of the container, in bytes
# A low-priority evaluation might not finish in time on a busy machine.
server_variables=(LOCUS_BACKGROUND_EVALUATIONS=false LOCUS_GRACE_SECONDS=60)

pass() { printf 'ok: %s\n' "$*"; }
not_tested() { printf 'not tested by %s: %s\n' "$ENGINE" "$*"; }
die() {
  printf 'FAILED: %s\n' "$*" >&2
  logs | tail -n 20 >&2
  exit 1
}
megabytes() { awk '{ printf "%.1f MB", $1 / 1e6 }' <<<"$1"; }

# Engine-specific functions: start, client, logs, stop, remove, files, the queries of
# the image's configuration, and the checks. They set grpc_port, http_port, process
# and exit_code.
if [[ $ENGINE == buildah ]]; then
  # shellcheck source=deploy/test-image-buildah.sh
  source deploy/test-image-buildah.sh
else
  # shellcheck source=deploy/test-image-engine.sh
  source deploy/test-image-engine.sh
fi

# scrape: prints the server's metrics, without needing curl.
scrape() {
  exec 3<>"/dev/tcp/127.0.0.1/$http_port"
  printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
  cat <&3
  exec 3>&-
}
# metric NAME: prints its value.
metric() { scrape | tr -d '\r' | awk -v name="$1" '$1 == name { print $2 }'; }
# of_process FIELD: prints a field of /proc/PID/status of locusd.
of_process() { awk -v field="$1:" '$1 == field { print $2 }' "/proc/$process/status"; }

# build_twice [FLAGS]: builds the same commit twice without a cache.
build_twice() {
  local id layers
  ./run image --no-cache "$@"
  id=$(image_id) layers=$(image_layers)
  ./run image --no-cache "$@"
  [[ $layers == "$(image_layers)" ]] ||
    die "two builds differ: $layers, then $(image_layers)"
  if [[ $id == "$(image_id)" ]]; then
    pass "two builds give the same image, $id"
  else
    pass "two builds give the same layers, $layers"
    not_tested "that two builds give the same image: the engine writes names of working containers into it"
  fi
}

trap 'remove; rm -rf "$work"' EXIT
if [[ ${TWICE:-} == yes ]]; then
  build_twice "$@"
elif [[ ${BUILD:-} != no ]]; then
  ./run image "$@"
fi
start

for attempt in {1..100}; do
  client health &>/dev/null && break
  [[ $attempt != 100 ]] || die "not healthy after 10 seconds: $(client health 2>&1)"
  sleep 0.1
done
pass "healthy: $(client health | tr '\n' ' ')"

config=$(image_config)
[[ $config == *'"Healthcheck"'*'"locus"'*'"health"'* ]] || die "the image has no health check"
pass "the image has a health check that runs locus health"
check_own_health
[[ $config == *'"User": "65532:65532"'* || $config == *'"User":"65532:65532"'* ]] ||
  die "the image's user is not 65532:65532: $config"
pass "the image's user is numeric, 65532:65532"

if [[ -r /proc/$process/status ]]; then
  [[ $(of_process CapEff) =~ ^0+$ ]] || die "the process has capabilities: $(of_process CapEff)"
  pass "runs as user $(of_process Uid), group $(of_process Gid), without capabilities"
else
  not_tested "the user of the process: the engine's processes are not visible here"
fi

files >"$work/before"
programs=$(grep -E '/s?bin/|\.py$|\.sh$' "$work/before" | sort | tr '\n' ' ')
[[ $programs == "./usr/local/bin/locus ./usr/local/bin/locusd " ]] ||
  die "the image contains other programs: $programs"
! grep -E '\.(h|a|o|la|pc|cmake|deb)$|/include/' "$work/before" || die "the image contains development files"
pass "contains two programs, no shell, no package manager, no development files:" \
  "$(wc -l <"$work/before") files of $(grep -c 'var/lib/dpkg/status.d/' "$work/before") packages"

bytes=$(unpacked_bytes)
((bytes < max_bytes)) || die "the image unpacks to $(megabytes "$bytes"), which is too large"
pass "unpacks to $(megabytes "$bytes")"

client attend --scheme rope --dim 16 --heads 1 --tokens 'the cat sat on the mat' ||
  die "a call failed"
pass "answers a call"

[[ $(scrape) == *grpc_server_handled_total*Attend* ]] || die "no metrics: $(scrape)"
pass "serves metrics: $(scrape | wc -l) lines"

if [[ ${limited:-} ]]; then
  [[ $(metric locus_slots) == 1 ]] || die "expected 1 slot for one processor, got $(metric locus_slots)"
  [[ $(metric locus_memory_budget_bytes) == $((memory / 2)) ]] ||
    die "expected a budget of half of $memory bytes, got $(metric locus_memory_budget_bytes)"
  pass "follows the cgroup's limits: $(metric locus_slots) slot," \
    "a budget of $(megabytes "$(metric locus_memory_budget_bytes)")"
else
  not_tested "that it follows the cgroup's limits: none could be set"
fi

check_read_only
# An evaluation of about ten seconds, from another process or container.
client evaluate --task copy --scheme rope --scheme alibi --steps 60 --seeds 1 \
  --no-out --quiet >"$work/evaluation" 2>&1 &
evaluation=$!
for attempt in {1..100}; do
  [[ $(metric locus_evaluations_in_progress) != 1 ]] || break
  [[ $attempt != 100 ]] || die "no evaluation is running: $(cat "$work/evaluation")"
  sleep 0.1
done
stop
[[ $exit_code == 0 ]] || die "SIGTERM ended it with exit code $exit_code"
wait $evaluation || die "the evaluation in flight failed: $(cat "$work/evaluation")"
grep -q alibi "$work/evaluation" || die "the result is incomplete: $(cat "$work/evaluation")"
pass "on SIGTERM the call in flight finishes, then exit code 0"
pass "all of this on a read-only root file system"
