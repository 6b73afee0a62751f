# shellcheck shell=bash disable=SC2034,SC2154
# Part of test-image.sh: the functions for buildah; needs root. buildah does not
# run containers, so the server is a child process of this script in the image's
# root, with the user, environment and entry point of the image.

start() {
  [[ $EUID == 0 ]] || die "with buildah this script needs root"
  container=$(buildah from --pull-never locus)
  root=$(buildah mount "$container")
  mkdir -p "$root"/{proc,sys,dev} # mount points that engines create as well
  user=$(image_says .OCIv1.Config.User)
  mapfile -t variables < <(image_list .OCIv1.Config.Env)
  mapfile -t entrypoint < <(image_list .OCIv1.Config.Entrypoint)
  serving=("${variables[@]}" "${server_variables[@]}" LOCUS_LISTEN=127.0.0.1:0
    LOCUS_HTTP=127.0.0.1:0)
  make_groups
  (
    for group in "${groups[@]}"; do echo "$BASHPID" >"$group/cgroup.procs"; done
    become serving "${entrypoint[@]}"
  ) 2>"$work/log" &
  process=$!
  for attempt in {1..100}; do
    ! grep -qs '"event":"ready"' "$work/log" || break
    [[ $attempt != 100 ]] || die "not ready after 10 seconds"
    sleep 0.1
  done
  grpc_port=$(of_ready grpc_port)
  http_port=$(of_ready http_port)
}
# of_ready FIELD: prints a field of the server's "ready" log line.
of_ready() { sed -n "s/.*\"event\":\"ready\".*\"$1\":\([0-9]*\).*/\1/p" "$work/log"; }
# image_says FIELD, image_list FIELD: print a field of the image's configuration.
image_says() { buildah inspect --type image --format "{{$1}}" locus; }
image_list() { image_says "range $1}}{{println .}}{{end" | sed '/^$/d'; }

# become ARRAY COMMAND...: replaces the process by COMMAND in the image's read-only
# root. Its environment consists of the variables in ARRAY only.
become() {
  local -n given=$1
  # shellcheck disable=SC2016  # expanded by the inner shell
  exec unshare --mount bash -c '
    mount --bind "$1" "$1" && cd "$1"
    for directory in proc sys dev; do mount --rbind "/$directory" "$directory"; done
    mount -o remount,bind,ro . && shift && exec "$@"' \
    become "$root" "$(command -v env)" --ignore-environment "${given[@]}" \
    "$(command -v setpriv)" --no-new-privs --bounding-set=-all,+sys_chroot,+setuid,+setgid \
    "$(command -v chroot)" --userspec="$user" --groups= . "${@:2}"
}

# make_groups: creates cgroups with the limits below our own cgroups. Creates none
# if one of them fails.
groups=()
make_groups() {
  local at=/sys/fs/cgroup own=locus-test-$$
  limited=yes
  if [[ -e $at/cgroup.controllers ]]; then
    make_group "$at$(own_group '')/$own" memory.max "$memory" cpu.max '100000 100000'
  else
    make_group "$at/memory$(own_group memory)/$own" memory.limit_in_bytes "$memory" &&
      make_group "$at/cpu$(own_group cpu)/$own" cpu.cfs_quota_us 100000
  fi || {
    limited=
    remove_groups
  }
}
# make_group PATH [FILE VALUE]...
make_group() {
  mkdir "$1" || return
  groups+=("$1")
  local group=$1
  shift
  while (($#)); do
    echo "$2" >"$group/$1" || return
    shift 2
  done
} 2>/dev/null
# own_group CONTROLLER: prints our cgroup path; an empty name means version 2.
own_group() {
  awk -F: -v name="$1" '{ split($2, names, ","); for (i in names) if (names[i] == name) found = $3 }
    name == "" && $2 == "" { found = $3 }
    END { print found == "/" ? "" : found }' /proc/self/cgroup
}
remove_groups() {
  ((!${#groups[@]})) || rmdir "${groups[@]}"
  groups=()
}

client() { (become variables locus "$1" --server "127.0.0.1:$grpc_port" "${@:2}"); }
logs() { [[ ! -e $work/log ]] || cat "$work/log"; }
# Lists the files of a fresh container, without mount points.
files() {
  local fresh
  fresh=$(buildah from --pull-never locus)
  (cd "$(buildah mount "$fresh")" && find . ! -type d | sort)
  buildah rm "$fresh" >/dev/null
}
unpacked_bytes() { tar -c -C "$root" . | wc -c; }
image_config() { buildah inspect --type image locus | tr -d '\n'; }
image_id() { image_says .FromImageID; }
image_layers() { image_list .OCIv1.RootFS.DiffIDs; }
stop() {
  kill -s "$(image_says .OCIv1.Config.StopSignal)" "$process"
  exit_code=0
  wait "$process" || exit_code=$?
}
remove() {
  if [[ ${process:-} ]]; then
    kill "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  fi
  [[ ! ${container:-} ]] || buildah rm "$container" >/dev/null
  remove_groups
}

# Runs the health check command of the image, since buildah has no engine to run it.
check_own_health() {
  local check checking=("${variables[@]}" "LOCUS_LISTEN=0.0.0.0:$grpc_port")
  mapfile -t check < <(image_list .Docker.Config.Healthcheck.Test)
  [[ ${check[0]} == CMD ]] || die "the health check is not a command: ${check[*]}"
  (become checking "${check[@]:1}") >/dev/null || die "the image's health check fails"
  pass "the image's health check passes on a non-default port: ${check[*]:1}"
  not_tested "that an engine runs the health check by itself: there is no engine"
}
check_read_only() {
  local options
  options=$(awk '$5 == "/" { print $6 }' "/proc/$process/mountinfo" | tail -n 1)
  [[ ,$options, == *,ro,* ]] || die "the root is writable: $options"
}
