# shellcheck shell=bash
# What towline-get needs, and how --setup gets it. Sourced by it.
# shellcheck disable=SC2154  # `top` and `program` are set there

# Debian packages: to build with, and to run with. The certificates are what https is checked against.
setup_packages=(libcurl4-openssl-dev libjansson-dev libsqlite3-dev libssl-dev zlib1g-dev jq ca-certificates)
# Installed from a package there is nothing to build.
[[ -e $top/Package.swift ]] || setup_packages=(libcurl4 libjansson4 libsqlite3-0 libssl3 zlib1g jq ca-certificates)
setup_binary=$top/.build-release/release/towline
# Its time is that of the sources that were built last.
setup_stamp=$top/.build-release/towline-get.stamp

# Installs what is missing and builds what is old. Everything it says goes to standard error.
setup() {
    setup_install
    if [[ -n ${TOWLINE:-} ]]; then
        note "TOWLINE names the binary: nothing is built"
        return 0
    fi
    setup_is_stale || return 0
    if ! type -P swift >/dev/null; then
        die "swift is not in PATH: install the Swift 6.3 toolchain (https://www.swift.org/install/linux/), then run the same again"
    fi
    note "building $setup_binary"
    mkdir -p -- "${setup_stamp%/*}"
    # Made before the build: what is changed meanwhile counts as newer.
    : >"$setup_stamp.new"
    (cd -- "$top" && swift build -c release --static-swift-stdlib --scratch-path .build-release --product towline) >&2 </dev/null ||
        die 'the build failed'
    mv -f -- "$setup_stamp.new" "$setup_stamp"
}

# True when there is no release build, or the sources have changed since.
setup_is_stale() {
    local built=$setup_stamp
    [[ -e $top/Package.swift ]] || return 1
    [[ -x $setup_binary ]] || return 0
    [[ -e $built ]] || built=$setup_binary
    [[ -d $top/Sources ]] || return 1
    # Directories too: their time shows that files were deleted.
    [[ -n $(find "$top/Package.swift" "$top/Sources" -newer "$built" -print -quit) ]]
}

setup_missing_packages() {
    local package
    for package in "${setup_packages[@]}"; do
        [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || printf '%s\n' "$package"
    done
}

setup_install() {
    local packages=() as_root=()
    if ! type -P dpkg-query >/dev/null; then
        type -P jq >/dev/null || die '--setup knows Debian packages only: install jq and the libraries that README.md names'
        return 0
    fi
    mapfile -t packages < <(setup_missing_packages)
    ((${#packages[@]})) || return 0
    local line="sudo apt-get update && sudo apt-get install -y --no-install-recommends ${packages[*]}"
    if ((EUID != 0)); then
        type -P sudo >/dev/null || die "neither root nor sudo; have somebody run: ${line//sudo /}"
        as_root=(sudo)
        # Without a terminal nobody could type a password.
        [[ -t 0 ]] || as_root+=(-n)
    fi
    note "installing ${packages[*]}"
    {
        "${as_root[@]}" apt-get update -qq &&
            "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
                apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
    } >&2 </dev/null || die "the packages could not be installed; run: $line"
}

# Ends with the line to run when something is missing.
setup_require() {
    local missing=() arguments
    type -P jq >/dev/null || missing+=('jq (Debian package jq)')
    if ! towline_find >/dev/null; then
        if [[ -n ${TOWLINE:-} ]]; then die "TOWLINE names no program: $TOWLINE"; fi
        missing+=("the towline binary ($setup_binary)")
    fi
    if ((${#missing[@]})); then
        printf '%s: missing: %s\n' "$program" "${missing[@]}" >&2
        printf -v arguments ' %q' "$0" --setup "$@"
        printf '%s: to install and build it, run:\n   %s\n' "$program" "$arguments" >&2
        exit 1
    fi
    if [[ -z ${TOWLINE:-} && -x $setup_binary ]] && setup_is_stale; then
        note "the sources are newer than the binary; --setup builds it again"
    fi
}
