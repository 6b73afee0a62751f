#!/bin/sh
# collect-root.sh DIRECTORY: the root of the image. Runs inside its build, see
# ../Dockerfile, and copies locusd, locus and the files that they use.
set -eu
root=$1
set -- /usr/local/bin/locusd /usr/local/bin/locus

# keep FILE: at the same place, the file itself if it is a link.
keep() { cp --parents --dereference --preserve=mode,timestamps "$1" "$root"; }

mkdir -p "$root"
# Debian has /lib and /lib64 as links into /usr.
mkdir -p "$root/usr/lib" "$root/usr/lib64"
ln -s usr/lib usr/lib64 "$root"

for program; do
  keep "$program"
  if ldd "$program" | grep 'not found'; then exit 1; fi
done
libraries=$(ldd "$@" | grep --only-matching '/[^ ]*' | grep '\.so' | sort --unique)
for library in $libraries; do
  # /lib/... and /usr/lib/... are one place.
  directory=$(realpath "$(dirname "$library")")
  keep "$directory/$(basename "$library")"
done

# What plots are lettered with.
for file in $(find /etc/fonts /usr/share/fontconfig /usr/share/fonts/truetype/dejavu \
                ! -type d ! -name '*.uuid' | sort); do
  keep "$file"
done

# The trusted authorities of a client that names none.
keep /usr/share/grpc/roots.pem

# Whose files these are: scanners look for versions here, lawyers for notices.
mkdir -p "$root/var/lib/dpkg/status.d"
owners=$(cd "$root" && find usr etc -type f | while read -r file; do
  # Packages may know a library by the link's target, or without /usr.
  real=$(realpath "/$file")
  dpkg-query --search "$real" "${real#/usr}" 2>/dev/null | head -n 1 | cut -d: -f1
done | sort --unique)
for package in $owners; do
  dpkg-query --status "$package" >"$root/var/lib/dpkg/status.d/$package"
  keep "/usr/share/doc/$package/copyright"
done
mkdir -p "$root/usr/share/licenses/locus"
cp /LICENSE "$root/usr/share/licenses/locus/"

# Names for the two users there are, a place for what a mount brings.
printf 'root:x:0:0:root:/:/sbin/nologin\nlocus:x:65532:65532:locus:/:/sbin/nologin\n' \
  >"$root/etc/passwd"
printf 'root:x:0:\nlocus:x:65532:\n' >"$root/etc/group"
mkdir -m 1777 "$root/tmp"

find "$root" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
