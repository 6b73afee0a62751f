# shellcheck shell=bash disable=SC2034,SC2154
# Part of test-image.sh: the functions for docker and podman.

# Not the default port, to verify that the health check follows LOCUS_LISTEN.
grpc_port=50061

start() {
  container=$("$ENGINE" run --detach --read-only --cap-drop ALL \
    --security-opt no-new-privileges --cpus 1 --memory "$memory" \
    "${server_variables[@]/#/--env=}" --env "LOCUS_LISTEN=0.0.0.0:$grpc_port" \
    --publish 127.0.0.1::9464 locus)
  limited=yes
  http_port=$("$ENGINE" port "$container" 9464 | head -n 1)
  http_port=${http_port##*:}
  process=$("$ENGINE" inspect --format '{{.State.Pid}}' "$container")
}
# Runs locus in its own container, in the network of the server's container.
client() {
  "$ENGINE" run --rm --read-only --cap-drop ALL --security-opt no-new-privileges \
    --network "container:$container" --entrypoint locus locus "$1" \
    --server "127.0.0.1:$grpc_port" "${@:2}"
}
logs() { [[ ! ${container:-} ]] || "$ENGINE" logs "$container" 2>&1; }
files() { "$ENGINE" export "$container" | tar -t | sed 's|^\./||; s|^|./|' | grep -v '/$'; }
unpacked_bytes() { "$ENGINE" export "$container" | wc -c; }
# The whole configuration, since docker and podman store the health check in
# different places.
image_config() { "$ENGINE" image inspect locus | tr -d '\n'; }
image_id() { "$ENGINE" image inspect --format '{{.Id}}' locus; }
image_layers() { "$ENGINE" image inspect --format '{{json .RootFS.Layers}}' locus; }
stop() {
  "$ENGINE" stop --time 70 "$container" >/dev/null
  exit_code=$("$ENGINE" inspect --format '{{.State.ExitCode}}' "$container")
}
remove() { [[ ! ${container:-} ]] || "$ENGINE" rm --force "$container" >/dev/null; }

# Has the engine run the image's health check: podman runs it on request, docker
# periodically.
check_own_health() {
  for attempt in {1..60}; do
    if [[ $ENGINE == podman ]]; then
      ! "$ENGINE" healthcheck run "$container" &>/dev/null || break
    else
      [[ $("$ENGINE" inspect --format '{{.State.Health.Status}}' "$container") != healthy ]] || break
    fi
    [[ $attempt != 60 ]] || die "$ENGINE does not report the container as healthy"
    sleep 0.5
  done
  pass "$ENGINE reports the container as healthy, on a non-default port"
}
check_read_only() {
  [[ $("$ENGINE" inspect --format '{{.HostConfig.ReadonlyRootfs}}' "$container") == true ]] ||
    die "the root is writable"
}
