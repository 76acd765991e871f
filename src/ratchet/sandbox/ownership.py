"""As root a sandbox is another user: the working directory is made that user's for the run, and given back after it."""

from __future__ import annotations

import os
import stat

from ratchet.errors import SandboxError
from ratchet.files import lock
from ratchet.sandbox.beneath import entries
from ratchet.sandbox.growth import Survey

Owners = dict[int, tuple[int, int]]
"""File number -> the user and group that had it."""


def give(root: int, uid: int, found: Survey, skip: frozenset[bytes]) -> Owners:
    """Make a folder and what is in it belong to `uid`; return who had it. Repositories stay, since the command does not
    see them, and so do files with a name outside the folder, since that name's owner did not ask.

    Only one run at a time has a folder: another one waits here. Raises SandboxError where the file system does not let
    root do that.
    """
    lock(root, wait=True)  # released when the descriptor is closed
    had: Owners = {}
    own = os.fstat(root)
    # A run that was killed with all that watched it could not give the folder back: then it is the caller's.
    mine = (own.st_uid, own.st_gid) if own.st_uid != uid else (os.geteuid(), os.getegid())
    try:
        for each in entries(root, skip=skip | found.repositories.keys()):
            status = each.status
            shared = not stat.S_ISDIR(status.st_mode) and status.st_nlink > found.links.get(status.st_ino, 1)
            if status.st_uid == uid or shared or each.path in skip or each.path in found.repositories:
                continue
            had[status.st_ino] = (status.st_uid, status.st_gid)
            os.chown(each.name, uid, uid, dir_fd=each.folder, follow_symlinks=False)
        had[own.st_ino] = mine
        os.fchown(root, uid, uid)
    except OSError as error:
        take_back(root, uid, had, skip)
        raise SandboxError(f"the working directory cannot be given to user {uid}: {error}") from error
    return had


def take_back(root: int, uid: int, had: Owners, skip: frozenset[bytes]) -> None:
    """Give everything back; what is new belongs to the folder's owner. Changing the owner clears set-id bits."""
    own = os.fstat(root)
    mine = had.get(own.st_ino, (own.st_uid, own.st_gid))
    for each in entries(root, skip=skip):
        if each.status.st_uid == uid:
            user, group = had.get(each.status.st_ino, mine)
            os.chown(each.name, user, group, dir_fd=each.folder, follow_symlinks=False)
    os.fchown(root, *mine)


def open_again(root: int, mode: int) -> None:
    """Let a folder's owner back into it where the command took that right, which it had in `mode`: otherwise nothing
    could be run there any more."""
    now = stat.S_IMODE(os.fstat(root).st_mode)
    if mode & ~now & stat.S_IRWXU:
        os.fchmod(root, now | (mode & stat.S_IRWXU))
