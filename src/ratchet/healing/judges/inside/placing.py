"""Go where a project's tests run, with what they run with: for judge and search, inside the sandbox, alike."""

from __future__ import annotations

import os
import sys


def place(run: dict, root: str, project: str) -> list:
    """Enter the run's folder and set its variables; return the folders to put first on `sys.path`: the run's own, the
    project's and its `src`. `project` is the path that the project has outside: what an editable install says of it is
    turned to where it lies here, so that every file has one name."""
    cwd = os.path.normpath(os.path.join(root, run["cwd"]))
    environ = {str(name): str(value) for name, value in run["environ"].items()}
    named = [os.path.join(cwd, each) for each in environ.pop("PYTHONPATH", "").split(os.pathsep) if each]
    os.environ.update(environ)
    os.chdir(cwd)
    sys.path[:] = [_here(each, root, project) for each in sys.path]
    return [each for each in dict.fromkeys([*named, cwd, root, os.path.join(root, "src")]) if os.path.isdir(each)]


def _here(path: str, root: str, project: str) -> str:
    if project and (path == project or path.startswith(project + os.sep)):
        return root + path[len(project) :]
    return path
