#!/usr/bin/env bash
# Builds the container image, runs it as a cluster would (no root, no
# capabilities, nothing writable) and proves what it promises. Arguments are
# passed on to the engine's build; BUILD=no takes the image that is there, and
# TWICE=yes builds it twice from nothing, and compares. Takes docker, podman or
# buildah, or what ENGINE says.
#
# buildah builds, but does not run containers: with it the image's root becomes
# the root of an ordinary process (chroot), which proves a little less. What is
# then not proved is said in lines that begin with "not proved".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for name in docker podman buildah; do
  [[ ${ENGINE:-} ]] || ! "$name" info &>/dev/null || ENGINE=$name
done
export ENGINE=${ENGINE:?"none of docker, podman and buildah answers"}
work=$(mktemp -d)
most_bytes=80000000
memory=$((1 << 30)) # of the container, in bytes
# On a busy machine an evaluation that yields to everybody might not end in time.
server_variables=(LOCUS_BACKGROUND_EVALUATIONS=false LOCUS_GRACE_SECONDS=60)

proved() { printf 'ok: %s\n' "$*"; }
not_proved() { printf 'not proved by %s: %s\n' "$ENGINE" "$*"; }
die() {
  printf 'FAILED: %s\n' "$*" >&2
  logs | tail -n 20 >&2
  exit 1
}
megabytes() { awk '{ printf "%.1f MB", $1 / 1e6 }' <<<"$1"; }

# What differs between engines: start, client, logs, stop, remove, files, what
# the image says, and the ports, the process and the exit code that they leave
# behind.
if [[ $ENGINE == buildah ]]; then
  # shellcheck source=deploy/prove-with-buildah.sh
  source deploy/prove-with-buildah.sh
else
  # shellcheck source=deploy/prove-with-engine.sh
  source deploy/prove-with-engine.sh
fi

# scrape: the server's metrics, on machines that have no curl.
scrape() {
  exec 3<>"/dev/tcp/127.0.0.1/$http_port"
  printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
  cat <&3
  exec 3>&-
}
# metric NAME: its value.
metric() { scrape | tr -d '\r' | awk -v name="$1" '$1 == name { print $2 }'; }
# of_process FIELD: from the kernel's account of locusd.
of_process() { awk -v field="$1:" '$1 == field { print $2 }' "/proc/$process/status"; }

# build_twice [FLAGS]: the same commit, nothing kept from one to the next.
build_twice() {
  local id layers
  ./run image --no-cache "$@"
  id=$(image_id) layers=$(image_layers)
  ./run image --no-cache "$@"
  [[ $layers == "$(image_layers)" ]] ||
    die "two builds differ: $layers, then $(image_layers)"
  if [[ $id == "$(image_id)" ]]; then
    proved "two builds give the same image, $id"
  else
    proved "two builds give the same layers, $layers"
    not_proved "that two builds give the same image: engines name their working containers in it"
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
proved "healthy: $(client health | tr '\n' ' ')"

config=$(image_config)
[[ $config == *'"Healthcheck"'*'"locus"'*'"health"'* ]] || die "the image has no health check"
proved "the image has a health check by locus health"
check_own_health
[[ $config == *'"User": "65532:65532"'* || $config == *'"User":"65532:65532"'* ]] ||
  die "the image does not say 65532:65532: $config"
proved "the image's user is 65532:65532, a number"

if [[ -r /proc/$process/status ]]; then
  [[ $(of_process CapEff) =~ ^0+$ ]] || die "it has capabilities: $(of_process CapEff)"
  proved "runs as user $(of_process Uid), group $(of_process Gid), without capabilities"
else
  not_proved "which user the process has: the engine's processes are not to be seen here"
fi

files >"$work/before"
programs=$(grep -E '/s?bin/|\.py$|\.sh$' "$work/before" | sort | tr '\n' ' ')
[[ $programs == "./usr/local/bin/locus ./usr/local/bin/locusd " ]] ||
  die "there are other programs in it: $programs"
! grep -E '\.(h|a|o|la|pc|cmake|deb)$|/include/' "$work/before" || die "it has files for developers"
proved "contains two programs, no shell, no package manager, no file for developers:" \
  "$(wc -l <"$work/before") files of $(grep -c 'var/lib/dpkg/status.d/' "$work/before") packages"

bytes=$(unpacked_bytes)
((bytes < most_bytes)) || die "it unpacks to $(megabytes "$bytes")"
proved "unpacks to $(megabytes "$bytes")"

client attend --scheme rope --dim 16 --heads 1 --tokens 'the cat sat on the mat' ||
  die "a call failed"
proved "answers a call"

[[ $(scrape) == *grpc_server_handled_total*Attend* ]] || die "no metrics: $(scrape)"
proved "was scraped: $(scrape | wc -l) lines"

if [[ ${limited:-} ]]; then
  [[ $(metric locus_slots) == 1 ]] || die "slots for one processor: $(metric locus_slots)"
  [[ $(metric locus_memory_budget_bytes) == $((memory / 2)) ]] ||
    die "half of $memory bytes: $(metric locus_memory_budget_bytes)"
  proved "reads the cgroup's limits: $(metric locus_slots) slot," \
    "a budget of $(megabytes "$(metric locus_memory_budget_bytes)")"
else
  not_proved "that it reads the cgroup's limits: none could be set"
fi

check_read_only
# Ten seconds of work or so, in another process than the server's container.
client evaluate --task copy --scheme rope --scheme alibi --steps 60 --seeds 1 \
  --no-out --quiet >"$work/evaluation" 2>&1 &
evaluation=$!
for attempt in {1..100}; do
  [[ $(metric locus_evaluations_in_progress) != 1 ]] || break
  [[ $attempt != 100 ]] || die "no evaluation runs: $(cat "$work/evaluation")"
  sleep 0.1
done
stop
[[ $exit_code == 0 ]] || die "SIGTERM ended it with exit code $exit_code"
wait $evaluation || die "what was under way was lost: $(cat "$work/evaluation")"
grep -q alibi "$work/evaluation" || die "the answer is not whole: $(cat "$work/evaluation")"
proved "SIGTERM let the call under way end, then exit code 0"
proved "all of this on a read-only root file system"
