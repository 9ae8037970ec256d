"""Make `.venv` beside this file and install gen into it, with nothing but Python 3.11 or newer.

    python3 setup_env.py            what `gen` needs
    python3 setup_env.py --tests    and what its tests need

Some Debian and Ubuntu machines have Python without pip and without ensurepip, and a system pip that refuses to install; there
pip comes from the distribution's own package, which apt fetches and verifies without being root. Running this again is safe.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

if sys.version_info < (3, 11):
    sys.exit(f"gen needs Python 3.11 or newer; this is {sys.version.split()[0]}.\n  With a newer one: python3.11 {sys.argv[0]}")

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
PIP_PACKAGE = "python3-pip-whl"
"""Debian's and Ubuntu's package of the pip wheel that their ensurepip would install."""


class SetUpError(Exception):
    """What stopped the set-up, and in the next line what to do about it."""


def main(arguments: list[str]) -> int:
    """Set up and give the exit code: 0 done, 1 something failed, 2 usage."""
    if arguments not in ([], ["--tests"]):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        if not usable():
            create()
        if not succeeds(PYTHON, "-m", "pip", "--version"):
            install_pip()
        install(with_tests="--tests" in arguments)
    except SetUpError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def usable() -> bool:
    """Tell whether `.venv` exists and runs the version of Python that runs this file."""
    version = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    return PYTHON.exists() and succeeds(PYTHON, "-c", version)


def create() -> None:
    """Make an empty `.venv`, replacing one that no longer runs."""
    try:
        import venv
    except ImportError as error:
        raise SetUpError("This Python has no venv module.\n  On Debian or Ubuntu: apt install python3") from error
    say(f"Making .venv with Python {sys.version.split()[0]}")
    try:
        venv.create(VENV, clear=True, symlinks=True)
    except OSError as error:
        raise SetUpError(f"Cannot write {VENV}: {error}\n  Make the clone writable for you, or clone it again.") from error


def install_pip() -> None:
    """Put pip into `.venv`: from ensurepip, or else from the distribution's package of its wheel."""
    if succeeds(PYTHON, "-c", "import ensurepip"):
        run(PYTHON, "-m", "ensurepip", "--upgrade", "--default-pip", remedy="Repair the installation of Python, then run this again.")
        return
    if not shutil.which("apt-get"):
        raise SetUpError("This Python has no ensurepip.\n  Install the system's package for Python's venv, then run this again.")
    say(f"This Python has no ensurepip: taking pip from the package {PIP_PACKAGE}")
    with tempfile.TemporaryDirectory() as folder:
        wheel = wheel_from_apt(Path(folder))
        run(PYTHON, wheel / "pip", "install", "--quiet", "--no-index", wheel, remedy="Run: apt install python3-venv, then this again.")


def wheel_from_apt(folder: Path) -> Path:
    """Download the package into `folder` and give the pip wheel in it; needs no root and leaves the system as it was."""
    remedy = "Is there a network? Otherwise, as root: apt update && apt install python3-venv, then run this again."
    if not succeeds("apt-get", "download", PIP_PACKAGE, cwd=folder):
        lists, cache = folder / "lists", folder / "cache"
        (lists / "partial").mkdir(parents=True)
        (cache / "archives" / "partial").mkdir(parents=True)
        own = (f"Dir::State::Lists={lists}", f"Dir::Cache={cache}", "Debug::NoLocking=true", "APT::Sandbox::User=root")
        apt = ("apt-get", "-qq", *(f"-o{option}" for option in own))
        run(*apt, "update", cwd=folder, remedy=remedy)
        run(*apt, "download", PIP_PACKAGE, cwd=folder, remedy=remedy)
    package = next(folder.glob("*.deb"))
    run("dpkg-deb", "--extract", package, folder / "content", remedy=remedy)
    return next(folder.glob("content/usr/share/python-wheels/pip-*.whl"))


def install(*, with_tests: bool) -> None:
    """Install gen and what it needs, editable, so that the clone is what runs."""
    what = f"{ROOT}[test]" if with_tests else str(ROOT)
    say("Installing gen and what it needs into .venv" + (", with what the tests need" if with_tests else "") + " (about a minute)")
    remedy = (
        "No network: run this again when there is one. No trusted certificates: on Debian or Ubuntu, apt install ca-certificates.\n"
        "  A package index or a certificate of your own: set PIP_INDEX_URL or PIP_CERT."
    )
    run(PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", what, remedy=remedy)


def say(words: str) -> None:
    """Say what comes next, before it starts."""
    print(words, flush=True)


def succeeds(*command: object, cwd: Path | None = None) -> bool:
    """Run a command in silence and tell whether it exited with 0."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, check=False, capture_output=True, stdin=subprocess.DEVNULL)
    return done.returncode == 0


def run(*command: object, remedy: str, cwd: Path | None = None) -> None:
    """Run a command that says only what went wrong. Raises SetUpError with `remedy` when it fails."""
    words = [str(part) for part in command]
    code = subprocess.run(words, cwd=cwd, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode
    if code:
        raise SetUpError(f"{Path(words[0]).name} failed with exit code {code}: {' '.join(words)}\n  {remedy}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
