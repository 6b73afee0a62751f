# shellcheck shell=bash disable=SC2034,SC2154
# Part of prove-image.sh: docker and podman.

start() {
  container=$("$ENGINE" run --detach --read-only --cap-drop ALL \
    --security-opt no-new-privileges --cpus 1 --memory "$memory" \
    --publish 127.0.0.1::9464 locus)
  limited=yes
  http_port=$("$ENGINE" port "$container" 9464 | head -n 1)
  http_port=${http_port##*:}
  process=$("$ENGINE" inspect --format '{{.State.Pid}}' "$container")
}
# A container of its own, beside the server's.
client() {
  "$ENGINE" run --rm --read-only --cap-drop ALL --security-opt no-new-privileges \
    --network "container:$container" --entrypoint locus locus "$1" \
    --server 127.0.0.1:50051 "${@:2}"
}
logs() { "$ENGINE" logs "$container" 2>&1; }
files() { "$ENGINE" export "$container" | tar -t | sed 's|^\./||; s|^|./|' | grep -v '/$'; }
unpacked_bytes() { "$ENGINE" export "$container" | wc -c; }
image_config() { "$ENGINE" image inspect --format '{{json .Config}}' locus; }
stop() {
  "$ENGINE" stop --time 40 "$container" >/dev/null
  exit_code=$("$ENGINE" inspect --format '{{.State.ExitCode}}' "$container")
}
remove() { "$ENGINE" rm --force "$container" >/dev/null; }

check_own_health() {
  "$ENGINE" exec "$container" locus health --timeout 2s >/dev/null ||
    die "its own health check fails"
  proved "its own health check passes inside it"
}
check_nothing_written() {
  [[ $("$ENGINE" inspect --format '{{.HostConfig.ReadonlyRootfs}}' "$container") == true ]] ||
    die "the root is writable"
  proved "all of this on a read-only root file system"
}
