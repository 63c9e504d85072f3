"""Makes system calls of this process fail, as on older kernels and in sandboxes.

This cannot be undone, so only a child process may do it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Sequence

X86_64 = platform.machine() == "x86_64"
OPENAT2 = 437
MMAP = 9 if X86_64 else 222
SECCOMP = 317 if X86_64 else 277

_ARCHITECTURE = 0xC000003E if X86_64 else 0xC00000B7  # AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16  # in struct seccomp_data
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _FAIL, _ASK = 0x7FFF0000, 0x00050000, 0x7FC00000
_PR_SET_NO_NEW_PRIVS, _SET_MODE_FILTER, _ALL_THREADS = 38, 1, 1
_NEW_LISTENER, _SIGNALS_WAIT = 8, 32


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def refuse(
    number: int,
    error: int,
    argument: int | None = None,
    equals: int | None = None,
    differs: int | None = None,
) -> None:
    """Make system call `number` fail with `error` in every thread: always, or for one argument.

    The lower 32 bits of that argument are compared. They are all bits of a C `int`.
    """
    load = _instruction(_LOAD, _ARCHITECTURE_AT)
    tests = [(load, _ARCHITECTURE, True), (_instruction(_LOAD, _NUMBER_AT), number, True)]
    if argument is not None:
        wanted = equals if equals is not None else differs
        assert wanted is not None, "an argument is compared with something"
        load = _instruction(_LOAD, _ARGUMENTS_AT + 8 * argument)
        tests.append((load, wanted & 0xFFFF_FFFF, equals is not None))
    code = b""
    for index, (load, value, must_equal) in enumerate(tests):
        rest = 2 * (len(tests) - index - 1) + 1  # to the last instruction, which allows it
        skips = (0, rest) if must_equal else (rest, 0)
        code += load + _instruction(_JUMP_IF_EQUAL, value, *skips)
    _install(code + _instruction(_RETURN, _FAIL | error) + _instruction(_RETURN, _ALLOW))


def ask(numbers: Sequence[int]) -> int:
    """Make these system calls, of this thread and of those that it starts, wait for an answer.

    Returns the descriptor from which another process reads and answers them: see
    seccomp_unotify(2). A signal other than SIGKILL waits for the answer (Linux 5.19).
    """
    code = _instruction(_LOAD, _NUMBER_AT)
    for i, number in enumerate(numbers):
        code += _instruction(_JUMP_IF_EQUAL, number, len(numbers) - i)
    code += _instruction(_RETURN, _ALLOW) + _instruction(_RETURN, _ASK)
    return _install(code, _NEW_LISTENER | _SIGNALS_WAIT)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _install(code: bytes, how: int = _ALL_THREADS) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Program(len(code) // 8, code)
    answer = libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if answer == 0:
        answer = libc.syscall(SECCOMP, _SET_MODE_FILTER, how, ctypes.byref(program))
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"no seccomp filter: {os.strerror(number)}")
    return int(answer)
