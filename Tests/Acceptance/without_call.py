"""Runs a program without one system call: `without_call.py NUMBER PROGRAM …`.

seccomp(2) makes the call fail with ENOSYS, as on an older kernel or in a sandbox.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

#: linux/prctl.h, linux/seccomp.h, linux/filter.h
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, MODE_FILTER = 22, 38, 2
RETURN_ALLOW, RETURN_ERRNO = 0x7FFF0000, 0x00050000
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06


def forbid(number: int) -> None:
    rows = [
        (LOAD_WORD, 0, 0, 0),
        (JUMP_IF_EQUAL, 0, 1, number),
        (RETURN, 0, 0, RETURN_ERRNO | errno.ENOSYS),
        (RETURN, 0, 0, RETURN_ALLOW),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    filter_program = ctypes.create_string_buffer(
        struct.pack("HxxxxxxP", len(rows), ctypes.addressof(program))
    )
    libc = ctypes.CDLL(None, use_errno=True)
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, MODE_FILTER, filter_program)):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    forbid(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
