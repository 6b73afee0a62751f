#!/bin/sh
# collect-root.sh DIRECTORY: creates the root file system of the image there. Runs
# inside the image build (see ../Dockerfile) and copies locusd, locus and the files
# that they use.
set -eu
root=$1
set -- /usr/local/bin/locusd /usr/local/bin/locus

# keep FILE: copies it to the same path below $root, following links.
keep() { cp --parents --dereference --preserve=mode,timestamps "$1" "$root"; }

mkdir -p "$root"
# On Debian, /lib and /lib64 are links into /usr.
mkdir -p "$root/usr/lib" "$root/usr/lib64"
ln -s usr/lib usr/lib64 "$root"

for program; do
  keep "$program"
  if ldd "$program" | grep 'not found'; then exit 1; fi
done
libraries=$(ldd "$@" | grep --only-matching '/[^ ]*' | grep '\.so' | sort --unique)
for library in $libraries; do
  # /lib/... and /usr/lib/... are the same directory.
  directory=$(realpath "$(dirname "$library")")
  keep "$directory/$(basename "$library")"
done

# Fonts for the labels of plots.
for file in $(find /etc/fonts /usr/share/fontconfig /usr/share/fonts/truetype/dejavu \
                ! -type d ! -name '*.uuid' | sort); do
  keep "$file"
done

# The default trusted authorities of gRPC clients.
keep /usr/share/grpc/roots.pem

# The packages that own the files: version data for scanners, copyright notices.
mkdir -p "$root/var/lib/dpkg/status.d"
owners=$(cd "$root" && find usr etc -type f | while read -r file; do
  # dpkg may list a library under its link target, or without /usr.
  real=$(realpath "/$file")
  dpkg-query --search "$real" "${real#/usr}" 2>/dev/null | head -n 1 | cut -d: -f1
done | sort --unique)
for package in $owners; do
  dpkg-query --status "$package" >"$root/var/lib/dpkg/status.d/$package"
  keep "/usr/share/doc/$package/copyright"
done
mkdir -p "$root/usr/share/licenses/locus"
cp /LICENSE "$root/usr/share/licenses/locus/"

# Names for the two users, and a /tmp to mount a volume on.
printf 'root:x:0:0:root:/:/sbin/nologin\nlocus:x:65532:65532:locus:/:/sbin/nologin\n' \
  >"$root/etc/passwd"
printf 'root:x:0:\nlocus:x:65532:\n' >"$root/etc/group"
mkdir -m 1777 "$root/tmp"

find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
