#!/usr/bin/env bash
# Installs the packages of ./run package on a clean Debian 12 root file system and
# verifies that they run there. Needs root and debootstrap. The mirror is the one
# that this machine's apt uses. If podman is available, the script also starts
# systemd in that root and verifies the unit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

not_tested() { printf 'not tested: %s\n' "$*"; }
pass() { printf 'ok: %s\n' "$*"; }
die() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

packages=(build/release/packages/{locusd,locus,python3-locus}_*.deb)
[[ -f ${packages[0]} && -f ${packages[1]} && -f ${packages[2]} ]] || die "no packages; build them with ./run package"
# shellcheck disable=SC2016  # expanded by apt
mirror=$(apt-get indextargets --format '$(REPO_URI)|$(CODENAME)|$(COMPONENT)' |
  sed -n 's/|bookworm|main$//p' | head -n 1)
[[ $mirror ]] || die "apt has no mirror of bookworm configured"

root=$(mktemp -d)
chmod 755 "$root"  # the server inside runs as nobody
server=
container=
clean_up() {
  [[ ! $server ]] || kill "$server" 2>/dev/null || true
  [[ ! $container ]] || podman rm --force "$container" >/dev/null || true
  unmount
  rm -rf --one-file-system "$root"
}
mount_all() {
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  mount --make-rslave "$root/dev"
}
unmount() {
  for mounted in proc dev; do
    umount -l "$root/$mounted" 2>/dev/null || true
  done
}
trap clean_up EXIT
in_root=(chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8)
inside() { "${in_root[@]}" "$@"; }

debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 ||
  die "debootstrap: $(tail -n 3 "$root.log")"
rm -f "$root.log"
# The configuration that apt needs to reach the mirror, and nothing else.
for file in /etc/resolv.conf /etc/hosts /etc/apt/apt.conf.d/* /etc/ssl/certs/ca-certificates.crt; do
  [[ ! -f $file ]] || install -D -m 644 "$(readlink -f "$file")" "$root$file"
done
mount_all
before=$(du -sm --one-file-system "$root" | cut -f1)

install -D -m 644 --target-directory="$root/tmp" "${packages[@]}"
inside apt-get -q -y update >/dev/null
inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install \
  /tmp/locusd_*.deb /tmp/locus_*.deb /tmp/python3-locus_*.deb' >"$root/tmp/apt.log" 2>&1 ||
  die "apt: $(tail -n 5 "$root/tmp/apt.log")"
pass "installs on a clean root of $before MB, which grows to $(du -sm --one-file-system "$root" | cut -f1) MB"

pass "$(inside locusd --version)"
pass "$(inside locus version)"
for file in /etc/default/locusd /lib/systemd/system/locusd.service \
  /usr/share/man/man8/locusd.8.gz /usr/share/man/man1/locus.1.gz \
  /usr/share/bash-completion/completions/{locus,locusd} \
  /usr/share/zsh/vendor-completions/{_locus,_locusd} \
  /usr/share/fish/vendor_completions.d/{locus,locusd}.fish; do
  # minbase installs manuals; slim images exclude them in the dpkg configuration.
  inside test -s "$file" || die "$file is missing"
done
pass "installs the unit, its environment file, manuals and completion"
# shellcheck disable=SC2016  # expanded by dpkg
[[ $(inside dpkg-query -W -f '${Conffiles}' locusd) == *' /etc/default/locusd '* ]] ||
  die "/etc/default/locusd is not a conffile"
pass "/etc/default/locusd is a conffile, so upgrades keep changes"

python_client='import locus; client = locus.connect(); print(client.rope([7], dim=128)[0].shape)'
[[ $(inside python3 -c "$python_client") == "(1, 64)" ]] || die "the Python package does not work"
pass "the Python package starts a server and calls it"

port=45051
# Not through inside(), because its subshell would get the signals.
"${in_root[@]}" setpriv --reuid=65534 --regid=65534 --clear-groups locusd \
  --listen=127.0.0.1:$port --http= --log-calls=false 2>"$root/tmp/locusd.log" &
server=$!
for attempt in {1..100}; do
  inside locus health --server "127.0.0.1:$port" &>/dev/null && break
  [[ $attempt != 100 ]] || die "not healthy: $(cat "$root/tmp/locusd.log")"
  sleep 0.1
done
pass "serves: $(inside locus health --server "127.0.0.1:$port")"
inside locus attend --server "127.0.0.1:$port" --scheme rope --dim 16 --heads 1 \
  --tokens 'the cat sat on the mat' >/dev/null || die "a call failed"
inside locus plot heatmap --scheme sinusoidal --out /tmp/table.png || die "a plot failed"
pass "answers a call and draws a plot"
kill -TERM "$server"
wait "$server" || die "locusd ended with $?"
server=
pass "drains on SIGTERM with exit code 0"

# Runs the unit under systemd in a container without network.
in_system() { podman exec "$container" "$@"; }
of_unit() { in_system systemctl show --value --property "$1" locusd; }
test_unit() {
  inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install \
    systemd-sysv' >"$root/tmp/apt.log" 2>&1 || die "apt: $(tail -n 5 "$root/tmp/apt.log")"
  unmount
  container=$(podman run --detach --systemd=always --privileged --network none \
    --rootfs "$root" /sbin/init)
  for attempt in {1..300}; do
    [[ $(of_unit ActiveState 2>/dev/null) != active ]] || break
    [[ $attempt != 300 ]] || die "not active: $(in_system systemctl status locusd 2>&1 || true)"
    sleep 0.1
  done
  pass "systemd starts the unit and is notified when it serves (Type=$(of_unit Type))"
  local process user
  process=$(of_unit MainPID)
  user=$(in_system stat --format %u "/proc/$process")
  [[ $user != 0 ]] || die "the unit runs as root"
  # shellcheck disable=SC2016  # expanded by awk
  [[ $(in_system awk '/^CapEff/ { print $2 }' "/proc/$process/status") =~ ^0+$ ]] ||
    die "the unit has capabilities"
  pass "the unit runs as dynamic user $user without capabilities"
  in_system locus health >/dev/null || die "the unit is not healthy"
  in_system locus attend --server 127.0.0.1:50051 --scheme rope --dim 16 --heads 1 \
    --tokens 'the cat sat on the mat' >/dev/null || die "a call to the unit failed"
  pass "the unit is healthy and answers a call"
  in_system sh -c "kill -KILL $process"
  for attempt in {1..100}; do
    [[ $(of_unit ActiveState) != active || $(of_unit MainPID) == "$process" ]] || break
    [[ $attempt != 100 ]] || die "systemd does not restart the unit"
    sleep 0.1
  done
  pass "systemd restarts the unit when it is killed"
  in_system systemctl stop locusd
  [[ $(of_unit Result) == success && $(of_unit ExecMainStatus) == 0 ]] ||
    die "stop: $(of_unit Result), exit code $(of_unit ExecMainStatus)"
  pass "systemctl stop drains the server: exit code 0"
  in_system systemctl start locusd
  in_system dpkg --remove locusd >/dev/null 2>&1 || die "the package cannot be removed while locusd runs"
  ! in_system pidof locusd || die "locusd still runs after its package was removed"
  pass "removing the package stops the server"
  podman rm --force "$container" >/dev/null
  container=
  mount_all
}
if podman info &>/dev/null; then
  test_unit
else
  not_tested "that systemd runs the unit: podman is not available"
fi

inside dpkg --purge python3-locus locus locusd >/dev/null 2>&1 || die "the packages cannot be purged"
left=$(cd "$root" && find . -xdev -iname '*locus*' ! -path './tmp/*' ! -path './var/cache/apt/*' \
  ! -path './var/lib/apt/*')
[[ ! $left ]] || die "purging leaves files behind: $left"
! inside dpkg-query -W python3-locus locus locusd 2>/dev/null | grep . || die "dpkg still lists the packages"
pass "purging leaves no file behind"
