"""Each package is installed in a fresh system, used as its documentation says, and removed."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

from conftest import CONTENT, HOMEPAGE
from fresh_root import AUTHORITIES, FreshRoot
from nginx_server import Nginx

Make = Callable[[], FreshRoot]
PROGRAM = """
import sys
from towline import Towline

with Towline(app="trial") as client:
    print(client.fetch(sys.argv[1], directory="/root/by-client").path)
"""
LIBRARIES = {"libcurl4", "libjansson4", "libsqlite3-0", "libssl3", "zlib1g"}


def one(packages: Path, pattern: str) -> Path:
    (found,) = packages.glob(pattern)
    return found


def came(root: FreshRoot, path: str) -> bool:
    return (root.path / path.lstrip("/")).read_bytes() == CONTENT


def use_command(root: FreshRoot, url: str, **variables: str) -> None:
    """Downloads with towline-get, and checks that its manual page and completion are found."""
    shutil.rmtree(root.path / "root/by-command", ignore_errors=True)
    printed = root.shell(f"towline-get -d /root/by-command {url}", **variables)
    assert printed == "/root/by-command/disk.img\n"
    assert came(root, printed.strip())
    for name in ("towline", "towline-get"):
        page = root.shell(f"man {name} | col -b", **variables)
        assert re.search(rf"^\s+{name} - ", page, re.MULTILINE), page
        loaded = root.shell(
            ". /usr/share/bash-completion/bash_completion; "
            f"_completion_loader {name} || true; complete -p {name}",
            **variables,
        )
        assert "_towline" in loaded


def use_client(root: FreshRoot, url: str, python: str = "python3", **variables: str) -> None:
    for directory in ("by-module", "by-client"):
        shutil.rmtree(root.path / "root" / directory, ignore_errors=True)
        (root.path / "root" / directory).mkdir()
    (root.path / "tmp/program.py").write_text(PROGRAM)
    printed = root.shell(f"{python} -m towline get -d /root/by-module {url}", **variables)
    assert printed == "/root/by-module/disk.img\n"
    assert came(root, printed.strip())
    printed = root.run(python, "/tmp/program.py", url, **variables).stdout
    assert came(root, printed.strip())


def ours(root: FreshRoot) -> set[str]:
    return {path for path in root.files() if "towline" in path.casefold()}


def test_the_metadata_names_the_project_page(packages: Path) -> None:
    for file in packages.glob("*.deb"):
        fields = subprocess.run(["dpkg-deb", "--field", file], capture_output=True, text=True, check=True)
        assert f"Homepage: {HOMEPAGE}\n" in fields.stdout
    with zipfile.ZipFile(one(packages, "*.whl")) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        assert f"Project-URL: Homepage, {HOMEPAGE}\n" in wheel.read(name).decode()


def test_the_debian_packages(packages: Path, fresh: Make, served: Nginx) -> None:
    files = [one(packages, "towline_*.deb"), one(packages, "python3-towline_*.deb")]
    lint = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error,warning", *map(str, files)],
        capture_output=True,
        text=True,
    )
    assert (lint.returncode, lint.stdout) == (0, ""), lint.stdout + lint.stderr

    root = fresh()
    inside = [root.put(file) for file in files]
    root.install(["man-db", "bsdextrautils", "bash-completion"])
    assert ours(root) == set()
    root.install(inside[:1])
    installed = set(root.shell("dpkg-query -W -f '${Package}\\n'").split())
    assert installed >= {*LIBRARIES, "jq", "ca-certificates"}
    use_command(root, f"{served.http}/disk.img")
    root.install(inside[1:])
    use_client(root, f"{served.http}/disk.img")
    for file in ("zsh/vendor-completions/_towline", "fish/vendor_completions.d/towline-get.fish"):
        assert (root.path / "usr/share" / file).exists()
    root.run("apt-get", "purge", "-y", "towline", "python3-towline")
    assert ours(root) == set()

    # The dependencies stay installed, so that any other leftover shows.
    before = root.files()
    root.install(inside)
    use_client(root, f"{served.http}/disk.img")
    root.run("apt-get", "purge", "-y", "towline", "python3-towline")
    assert root.files() == before


def test_the_tarball(packages: Path, fresh: Make, served: Nginx) -> None:
    tarball = one(packages, "towline-*.tar.gz")
    name = tarball.name.removesuffix(".tar.gz")
    root = fresh()
    root.install(["man-db", "bsdextrautils", "bash-completion", "python3"])
    unpack = ["tar", "-C", "/opt", "-xzf", root.put(tarball)]
    root.run(*unpack)
    assert (root.path / "opt" / name / "LICENSE").read_text().startswith("MIT License")
    # It installs the libraries that it needs, and builds nothing.
    root.run(f"/opt/{name}/bin/towline-get", "--setup")
    assert root.run(f"/opt/{name}/bin/towline", "--version").stdout.startswith("towline ")
    assert "-dev" not in root.shell("dpkg-query -W -f '${Package}\\n'")
    root.run("rm", "-r", f"/opt/{name}")

    before = root.files()
    root.run(*unpack)
    path = f"/opt/{name}/bin:/usr/bin:/bin"
    use_command(root, f"{served.http}/disk.img", PATH=path, XDG_DATA_DIRS=f"/opt/{name}/share")
    client = f"/opt/{name}/share/towline/python/src"
    use_client(root, f"{served.http}/disk.img", PATH=path, PYTHONPATH=client, PYTHONDONTWRITEBYTECODE="1")
    # Outside PATH, the command still finds the files of the tarball.
    shutil.rmtree(root.path / "root/by-command")
    root.shell(f"/opt/{name}/bin/towline-get -d /root/by-command {served.http}/disk.img")
    assert came(root, "/root/by-command/disk.img")
    # A user's own script.
    script = f"""
        source /opt/{name}/share/towline/towline.sh
        towline_open --app script
        towline_start {served.http}/disk.img directory=/root ifExists=overwrite
        towline_wait "$TOWLINE_ID"
        towline_close
    """
    root.shell(script, PATH=path)
    assert came(root, "/root/disk.img")
    root.run("rm", "-r", f"/opt/{name}")
    assert root.files() == before


def test_the_wheel(packages: Path, fresh: Make, served: Nginx, tmp_path: Path) -> None:
    wheel = one(packages, "towline-*.whl")
    assert re.search(r"-py3-none-manylinux_2_\d+_\w+\.whl$", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        archive.extract("towline/bin/towline", tmp_path)
    # Only the bundled libraries and the system's; never those in a directory that downloads may go to.
    dynamic = subprocess.check_output(["readelf", "-dW", str(tmp_path / "towline/bin/towline")], text=True)
    assert re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic) == ["$ORIGIN/../../towline.libs"]

    root = fresh()
    root.install(["python3", "python3-venv"])
    assert root.run("dpkg-query", "-W", "libcurl4", check=False).returncode != 0
    root.run("python3", "-m", "venv", "/opt/venv")
    before = root.files()
    root.run("/opt/venv/bin/pip", "install", "--no-index", root.put(wheel))
    path = "/opt/venv/bin:/usr/bin:/bin"
    use_client(root, f"{served.http}/disk.img", PATH=path, python="python")
    assert re.fullmatch(r"towline \d+\.\d+\.\d+\n", root.shell("towline --version", PATH=path))

    # Libraries beside the service must not be loaded.
    (bundled,) = (root.path / "opt/venv/lib").glob("python3*/site-packages/towline/bin")
    for library in ("libcurl.so.4", "libz.so.1", "libsqlite3.so.0"):
        (bundled / library).write_bytes(b"no library")
    loaded = root.shell(f"ldd /{bundled.relative_to(root.path)}/towline")
    assert "towline.libs/libcurl-" in loaded
    assert "not found" not in loaded
    use_client(root, f"{served.http}/disk.img", PATH=path, python="python")
    for library in ("libcurl.so.4", "libz.so.1", "libsqlite3.so.0"):
        (bundled / library).unlink()

    # https, with the certificate authorities at the path of other distributions.
    for place in (AUTHORITIES, Path("/etc/pki/tls/certs/ca-bundle.crt"), Path("/etc/ssl/ca-bundle.pem")):
        (root.path / AUTHORITIES.relative_to("/")).unlink(missing_ok=True)
        authorities = root.path / place.relative_to("/")
        authorities.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(served.authority, authorities)
        use_client(root, f"{served.https}/disk.img", PATH=path, python="python")
        if place != AUTHORITIES:
            authorities.unlink()
    shutil.rmtree(root.path / "etc/pki")
    shutil.copy(served.authority, root.path / AUTHORITIES.relative_to("/"))

    root.run("/opt/venv/bin/pip", "uninstall", "-y", "towline")
    left = {each for each in root.files() - before if "__pycache__" not in each}
    assert left == set()
