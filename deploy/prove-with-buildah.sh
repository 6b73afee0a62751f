# shellcheck shell=bash disable=SC2034,SC2154
# Part of prove-image.sh: buildah. It has no containers that run by themselves,
# so that the server is a process of this script, in the image's root.
export BUILDAH_ISOLATION=${BUILDAH_ISOLATION:-chroot}

start() {
  container=$(buildah from --pull-never --cap-drop ALL locus)
  root=$(buildah mount "$container")
  client_container=$(buildah from --pull-never --cap-drop ALL locus)
  groups=$(make_groups) || groups=
  [[ ! $groups ]] || limited=yes
  (
    for group in $groups; do echo "$BASHPID" >"$group/cgroup.procs"; done
    exec buildah run --env LOCUS_LISTEN=127.0.0.1:0 --env LOCUS_HTTP=127.0.0.1:0 \
      "$container" -- locusd
  ) 2>"$work/log" &
  buildah_process=$!
  for attempt in {1..100}; do
    ! grep -q '"event":"ready"' "$work/log" || break
    [[ $attempt != 100 ]] || die "not ready after 10 seconds"
    sleep 0.1
  done
  touch "$work/started"
  local ready
  ready=$(grep '"event":"ready"' "$work/log")
  grpc_port=$(grep -o '"grpc_port":[0-9]*' <<<"$ready" | grep -o '[0-9]*')
  http_port=$(grep -o '"http_port":[0-9]*' <<<"$ready" | grep -o '[0-9]*')
  process=$(descendant "$buildah_process" locusd)
}
# descendant PROCESS NAME: the process of that name under another.
descendant() {
  local child found
  for child in $(ps -o pid= --ppid "$1"); do
    if [[ $(cat "/proc/$child/comm") == "$2" ]]; then found=$child; else found=$(descendant "$child" "$2"); fi
    [[ ! $found ]] || { echo "$found"; return; }
  done
}
# make_groups: cgroups of ours with the limits, below the one we are in.
make_groups() {
  local hierarchy=/sys/fs/cgroup group
  if [[ -e $hierarchy/cgroup.controllers ]]; then
    group=$hierarchy$(sed -n 's/^0:://p' /proc/self/cgroup)/locus-proof-$$
    mkdir "$group" && echo "$memory" >"$group/memory.max" &&
      echo '100000 100000' >"$group/cpu.max" && echo "$group"
    return
  fi
  group=$hierarchy/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)/locus-proof-$$
  mkdir "$group" && echo "$memory" >"$group/memory.limit_in_bytes" && echo "$group"
  group=$hierarchy/cpu$(sed -n 's/^[0-9]*:cpu[a-z,]*://p' /proc/self/cgroup | head -n 1)/locus-proof-$$
  mkdir "$group" && echo 100000 >"$group/cpu.cfs_quota_us" && echo "$group"
} 2>/dev/null

client() {
  buildah run "$client_container" -- locus "$1" --server "127.0.0.1:$grpc_port" "${@:2}"
}
logs() { cat "$work/log"; }
# Of a container that never ran: running leaves mount points behind.
files() {
  local fresh
  fresh=$(buildah from --pull-never locus)
  (cd "$(buildah mount "$fresh")" && find . ! -type d | sort)
  buildah rm "$fresh" >/dev/null
}
unpacked_bytes() { tar -c -C "$root" . | wc -c; }
image_config() { buildah inspect --type image locus | tr -d '\n'; }
stop() {
  kill -TERM "$process"
  exit_code=0
  wait "$buildah_process" || exit_code=$?
}
remove() {
  kill "$process" 2>/dev/null || true
  wait "$buildah_process" 2>/dev/null || true
  buildah rm "$container" "$client_container" >/dev/null
  for group in $groups; do rmdir "$group"; done
}

check_own_health() {
  not_proved "that the image's own health check and stop signal are obeyed: it has neither"
}
# The root is writable here, but not to this user, who has left it as it was.
check_nothing_written() {
  [[ ! $(find "$root" -xdev -newer "$work/started" ! -type d) ]] || die "it wrote to its root"
  proved "wrote no file"
  not_proved "that a read-only root is enough: chroot has none"
}
