# shellcheck shell=bash
# Debian packages: towline (the service, towline-get, towline.sh) and python3-towline. Sourced by build.
# shellcheck disable=SC2154  # `top`, `work`, `output`, `version` and `homepage` are set there

maintainer="${DEBFULLNAME:-Towline} <${DEBEMAIL:-towline@example.org}>"

# Copyright and changelog: `debian_documents ROOT PACKAGE`.
debian_documents() {
    local directory=$1/usr/share/doc/$2
    mkdir -p -- "$directory"
    {
        cat <<'TEXT'
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
TEXT
        sed -n 's/^Copyright (c) /Copyright: /p' "$top/LICENSE"
        printf 'License: Expat\n'
        sed -n '/^Permission is hereby/,$s/^$/./; /^Permission is hereby/,$s/^/ /p' "$top/LICENSE"
        if [[ $2 == towline ]]; then
            cat <<'TEXT'

Files: usr/bin/towline
Copyright: Apple Inc. and the Swift project authors, for the Swift runtime that is linked into it
License: Apache-2.0 with Swift exception
 On Debian systems the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.
 .
 As an exception, if you use this Software to compile your source code and
 portions of this Software are embedded into the binary product as a result,
 you may redistribute such product without providing attribution as would
 otherwise be required by Sections 4(a), 4(b) and 4(d) of the License.
TEXT
        fi
    } >"$directory/copyright"
    {
        printf '%s (%s) unstable; urgency=medium\n\n  * Release %s.\n\n' "$2" "$version" "$version"
        printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
    } | gzip -9n >"$directory/changelog.gz"
}

# Writes the control fields that both have, and makes the package: `debian_package ROOT PACKAGE ARCHITECTURE <CONTROL`.
debian_package() {
    local root=$1 file=$output/$2_${version}_$3.deb size
    debian_documents "$root" "$2"
    size=$(du -sk --apparent-size "$root/usr" | cut -f 1)
    mkdir -p -- "$root/DEBIAN"
    {
        printf 'Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$2" "$version" "$3" "$maintainer"
        printf 'Installed-Size: %s\nPriority: optional\n' "$size"
        [[ -z $homepage ]] || printf 'Homepage: %s\n' "$homepage"
        cat
    } >"$root/DEBIAN/control"
    (cd -- "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
    find "$root" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group --build "$root" "$file" >&2
    printf '%s\n' "$file"
}

# The libraries' packages and the versions that their symbols need.
library_packages() {
    # Where dpkg-shlibdeps expects a package's files.
    install -D -m 755 -t "$work/shlibdeps/debian/towline/usr/bin" "$work/towline"
    printf 'Source: towline\n\nPackage: towline\nArchitecture: any\n' >"$work/shlibdeps/debian/control"
    (cd -- "$work/shlibdeps" && dpkg-shlibdeps -O -e debian/towline/usr/bin/towline | sed -n 's/^shlibs:Depends=//p')
}

build_deb() {
    local root=$work/towline-deb python=$work/python-deb libraries
    libraries=$(library_packages)
    [[ $libraries == *'libcurl4 '* ]] || die "dpkg-shlibdeps found no libcurl4 among: $libraries"
    # Its symbols are older than what the service asks of it.
    if [[ $libraries =~ libcurl4\ \([^\)]*\) ]]; then libraries=${libraries/"${BASH_REMATCH[0]}"/libcurl4 (>= 7.88)}; fi
    lay_out "$root/usr"
    gzip -9n "$root"/usr/share/man/man1/*.1
    mkdir -p -- "$root/usr/share/zsh/vendor-completions"
    mv -- "$root/usr/share/zsh/site-functions/_towline" "$root/usr/share/zsh/vendor-completions/"
    rmdir -- "$root/usr/share/zsh/site-functions"
    debian_package "$root" towline "$(dpkg --print-architecture)" <<TEXT
Section: net
Depends: $libraries, ca-certificates, jq
Suggests: python3-towline
Description: download service for programs, and a command with progress bars
 Towline downloads files by http and https. What was interrupted by a pause,
 a crash or a lost connection is resumed, and a file gets its name only when
 all of it was received.
 .
 Programs run it as a subprocess and talk JSON-RPC over its standard input
 and output; towline-get is the command for people.
TEXT

    mkdir -p -- "$python/usr/lib/python3/dist-packages"
    python_sources "$work/python-sources"
    mv -- "$work/python-sources/src/towline" "$python/usr/lib/python3/dist-packages/"
    mkdir -p -- "$python/DEBIAN"
    # What is compiled at installation goes with the package.
    printf '#!/bin/sh\nset -e\npy3compile -p python3-towline\n' >"$python/DEBIAN/postinst"
    printf '#!/bin/sh\nset -e\npy3clean -p python3-towline\n' >"$python/DEBIAN/prerm"
    chmod 755 "$python/DEBIAN/postinst" "$python/DEBIAN/prerm"
    debian_package "$python" python3-towline all <<TEXT
Section: python
Depends: python3:any (>= 3.9), towline (>= $version)
Suggests: python3-rich
Description: Python client of the Towline download service
 Typed clients for asyncio and for threads, which run the service as a
 subprocess, and a command with progress bars (python3 -m towline).
TEXT
}
