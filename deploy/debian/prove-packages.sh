#!/usr/bin/env bash
# Installs the packages of ./run package on a clean Debian 12 root file system
# and proves that they run there: as root, on a machine with debootstrap. The
# mirror is the one that this machine's apt uses.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

proved() { printf 'ok: %s\n' "$*"; }
die() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

packages=(build/release/packages/locusd_*.deb build/release/packages/locus_*.deb)
[[ -f ${packages[0]} && -f ${packages[1]} ]] || die "no packages: ./run package makes them"
# shellcheck disable=SC2016  # apt's own variables
mirror=$(apt-get indextargets --format '$(REPO_URI)|$(CODENAME)|$(COMPONENT)' |
  sed -n 's/|bookworm|main$//p' | head -n 1)
[[ $mirror ]] || die "apt knows no mirror of bookworm"

root=$(mktemp -d)
chmod 755 "$root"  # the server inside is nobody
server=
clean_up() {
  [[ ! $server ]] || kill "$server" 2>/dev/null || true
  for mounted in proc dev; do
    umount -l "$root/$mounted" 2>/dev/null || true
  done
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"; }

debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 ||
  die "debootstrap: $(tail -n 3 "$root.log")"
rm -f "$root.log"
# What apt needs to reach the mirror, and nothing of ours.
for file in /etc/resolv.conf /etc/hosts /etc/apt/apt.conf.d/* /etc/ssl/certs/ca-certificates.crt; do
  [[ ! -f $file ]] || install -D -m 644 "$(readlink -f "$file")" "$root$file"
done
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
before=$(du -sm --one-file-system "$root" | cut -f1)

install -D -m 644 --target-directory="$root/tmp" "${packages[@]}"
inside apt-get -q -y update >/dev/null
inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install \
  /tmp/locusd_*.deb /tmp/locus_*.deb' >"$root/tmp/apt.log" 2>&1 ||
  die "apt: $(tail -n 5 "$root/tmp/apt.log")"
proved "installs on a clean root of $before MB, which then has $(du -sm --one-file-system "$root" | cut -f1) MB"

proved "$(inside locusd --version)"
proved "$(inside locus version)"
for file in /etc/default/locusd /lib/systemd/system/locusd.service \
  /usr/share/man/man8/locusd.8.gz /usr/share/man/man1/locus.1.gz \
  /usr/share/bash-completion/completions/{locus,locusd}; do
  # minbase keeps manuals; images that leave them out say so.
  inside test -s "$file" || die "there is no $file"
done
proved "brings its unit, environment, manuals and completion"
# shellcheck disable=SC2016  # dpkg's own variable
[[ $(inside dpkg-query -W -f '${Conffiles}' locusd) == *' /etc/default/locusd '* ]] ||
  die "/etc/default/locusd is no conffile"
proved "keeps changes to /etc/default/locusd"

port=45051
inside setpriv --reuid=65534 --regid=65534 --clear-groups locusd \
  --listen=127.0.0.1:$port --http= --log-calls=false 2>"$root/tmp/locusd.log" &
server=$!
for attempt in {1..100}; do
  inside locus health --server "127.0.0.1:$port" &>/dev/null && break
  [[ $attempt != 100 ]] || die "not healthy: $(cat "$root/tmp/locusd.log")"
  sleep 0.1
done
proved "serves: $(inside locus health --server "127.0.0.1:$port")"
inside locus attend --server "127.0.0.1:$port" --scheme rope --dim 16 --heads 1 \
  --tokens 'the cat sat on the mat' >/dev/null || die "a call failed"
inside locus plot heatmap --scheme sinusoidal --out /tmp/table.png || die "a plot failed"
proved "answers a call, and plots"
kill -TERM "$server"
wait "$server" || die "locusd ended with $?"
server=
proved "drains on SIGTERM with exit code 0"

inside dpkg --purge locus locusd >/dev/null 2>&1 || die "cannot be purged"
! inside test -e /etc/default/locusd || die "leaves /etc/default/locusd behind"
proved "goes without a trace"
