# SPDX-License-Identifier: BSD-2-Clause
"""Names and frames of code that halo-bpf has put into a program, for gdb.

gdb looks at the shared objects that the dynamic linker knows. Such code is in none of them: it is in an
"arena", a file that the process has mapped, and that is an ELF file with symbols and frame descriptions.
This script tells gdb of it, whenever the process or core dump that is debugged has one.

    gdb -ix halo-bpf.py -p PID
    ln -s $PWD/halo-bpf.py /etc/gdb/gdbinit.d/   # for all of gdb's users, where gdb is built so
"""

import atexit
import os
import re
import tempfile

import gdb

ARENA = re.compile(r"/arena-[0-9a-f]{64}( \(deleted\))?$")
HEADERS = 4096
BUILD_ID = slice(304, 324)
SIZE = slice(64 + 32, 64 + 40)  # of the first segment, from the file's begin: what is in use

known = {}  # (inferior, address) -> (build-id, file that gdb was given, address of the code in it)
busy = False


def read(address, length):
    return bytes(gdb.selected_inferior().read_memory(address, length))


def copy(address, headers):
    """A file that holds what the process has, for a path that leads nowhere or to another file."""
    length = int.from_bytes(headers[SIZE], "little")
    fd, path = tempfile.mkstemp(prefix="halo-bpf-")
    atexit.register(os.unlink, path)
    with os.fdopen(fd, "wb") as file:
        for at in range(0, length, 1 << 20):
            file.seek(at)
            file.write(read(address + at, min(1 << 20, length - at)))
    return path


def is_same(path, headers):
    try:
        with open(path, "rb") as file:
            return file.read(HEADERS)[BUILD_ID] == headers[BUILD_ID]
    except OSError:
        return False


def forget(key):
    gdb.execute("remove-symbol-file -a %#x" % known.pop(key)[2], False, True)


def learn(key, path):
    headers = read(key[1], HEADERS)
    if headers[:4] != b"\x7fELF" or key in known and known[key][0] == headers[BUILD_ID]:
        return
    if key in known:
        forget(key)
    if not is_same(path, headers):
        path = copy(key[1], headers)
    gdb.execute("add-symbol-file '%s' -o %#x" % (path, key[1]), False, True)
    text = int.from_bytes(headers[328 + 4 * 64 + 16 : 328 + 4 * 64 + 24], "little")
    known[key] = (headers[BUILD_ID], path, key[1] + text)


def arenas():
    try:
        text = gdb.execute("info proc mappings", False, True)
    except gdb.error:
        return
    for line in text.splitlines():
        words = line.split(None, 5)
        path = ARENA.search(line) and re.search(r"/.*", line).group()
        if path and int(words[3], 16) == 0:
            yield int(words[0], 16), path.replace(" (deleted)", "")


def look(_event=None):
    """Costs one read of the list of mappings per stop."""
    global busy
    if busy:
        return
    busy = True
    try:
        for address, path in arenas():
            learn((gdb.selected_inferior().num, address), path)
    except gdb.error as error:
        gdb.write("halo-bpf: %s\n" % error)
    finally:
        busy = False


def gone(event):
    """The process has ended, or another one took its place: gdb has dropped what was added."""
    for key in [key for key in known if key[0] == event.inferior.num]:
        del known[key]


gdb.events.stop.connect(look)
gdb.events.new_objfile.connect(look)
gdb.events.exited.connect(gone)
