"""A temporary environment with a package installed in it, made without a network or a build tool.

The environment sees all packages of the running one. The package is installed as pip would do it:
its modules, and metadata with the entry points that its pyproject.toml declares.
"""

import os
import shutil
import subprocess
import sysconfig
import tomllib
import venv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Environment:
    """A Python with a package that the running Python does not have."""

    python: Path
    packages: Path
    """The folder of its packages."""

    def run(self, *arguments: object, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run its Python; `settings` are environment variables."""
        return run_python(self.python, *arguments, **settings)


def run_python(
    python: Path | str, *arguments: object, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a Python and return what it printed, whatever its exit status."""
    return subprocess.run(
        [str(python), *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        env={**os.environ, "COLUMNS": "200", "PYTHONUTF8": "1", **settings},
    )


def environment_with(package: Path, folder: Path) -> Environment:
    """Make an environment in a folder and install a package into it."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    packages = Path(
        subprocess.check_output(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
        ).strip()
    )
    running = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    lines = (f"import site; site.addsitedir({path!r})\n" for path in running)
    (packages / "running_environment.pth").write_text("".join(lines))
    _install(package, packages)
    return Environment(python, packages)


def _install(package: Path, packages: Path) -> None:
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shutil.copytree(package / "src", packages, dirs_exist_ok=True)
    metadata = packages / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    (metadata / "INSTALLER").write_text("tests\n")
    sections = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    )
    (metadata / "entry_points.txt").write_text("\n".join(sections))
