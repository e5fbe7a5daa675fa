"""The file system that SQLite uses in this process, with everything that goes wrong decided by a test.

The functions of SQLite's default VFS are wrapped through ctypes, in the very library that `sqlite3` is linked with, so
no compiler is needed. Reads, writes, syncs and truncations of database files and their -wal pass here; all else is
untouched.
"""

import ctypes
from collections.abc import Callable, Generator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int64, c_void_p
from typing import Any, Protocol

OK, IOERR, FULL, SHORT_READ = 0, 10, 13, 522
#: an operation of a file -> the error of SQLite when it fails
ERRORS = {"read": 266, "write": 778, "sync": 1034, "truncate": 1546}
_MAIN, _WAL = 0x100, 0x80000

# The name as a pointer: SQLite keeps it, and finds other names behind it.
_Open = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
_Close = CFUNCTYPE(c_int, c_void_p)
_Transfer = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_Truncate = CFUNCTYPE(c_int, c_void_p, c_int64)
_Sync = CFUNCTYPE(c_int, c_void_p, c_int)
_Size = CFUNCTYPE(c_int, c_void_p, POINTER(c_int64))


class _Vfs(Structure):
    """The beginning of `sqlite3_vfs`."""

    _fields_ = [
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", c_void_p),
    ]


class _Methods(Structure):
    """`sqlite3_io_methods`."""

    _fields_ = [
        ("version", c_int),
        *((name, c_void_p) for name in ("close", "read", "write", "truncate", "sync", "size")),
        *((f"other{n}", c_void_p) for n in range(12)),
    ]


class Disk(Protocol):
    """What happens to the calls. Each answers an error of SQLite, or none: the call is made. Called in any thread."""

    def read(self, file: "DiskFile", offset: int, size: int) -> int | None: ...

    def write(self, file: "DiskFile", offset: int, data: bytes) -> int | None: ...

    def sync(self, file: "DiskFile") -> int | None: ...

    def truncate(self, file: "DiskFile", size: int) -> int | None: ...


class DiskFile:
    """An open file, and the calls as SQLite would have made them."""

    def __init__(self, handle: int, path: str, methods: _Methods) -> None:
        self._handle = handle
        self.path = path
        self.is_wal = path.endswith("-wal")
        self._read, self._write = _Transfer(methods.read), _Transfer(methods.write)
        self._size = _Size(methods.size)

    def read(self, offset: int, size: int) -> bytes:
        """What is there now; zeros behind the end."""
        buffer = ctypes.create_string_buffer(size)
        assert self._read(self._handle, ctypes.addressof(buffer), size, offset) in (OK, SHORT_READ)
        return buffer.raw

    def write(self, offset: int, data: bytes) -> None:
        """Write, whatever the disk thinks of it."""
        assert self._write(self._handle, data, len(data), offset) == OK

    @property
    def size(self) -> int:
        found = c_int64()
        assert self._size(self._handle, byref(found)) == OK
        return found.value


def _library() -> ctypes.CDLL:
    """The library that `sqlite3` uses. Raises `RuntimeError` where it cannot be reached."""
    import _sqlite3

    path = getattr(_sqlite3, "__file__", None)
    found = ctypes.CDLL(path)
    if not hasattr(found, "sqlite3_vfs_find"):
        raise RuntimeError(
            f"{path or 'this Python'} hides SQLite's functions: take one that links libsqlite3 dynamically"
        )
    return found


class _Wrapped:
    """The default VFS of SQLite with our functions in it. One in a process, as there is one default VFS."""

    def __init__(self) -> None:
        library = _library()
        library.sqlite3_vfs_find.restype = POINTER(_Vfs)
        library.sqlite3_vfs_find.argtypes = [c_char_p]
        self._vfs = library.sqlite3_vfs_find(None).contents
        self._files: dict[int, DiskFile] = {}
        #: wrapped methods by the address of the real ones; never freed, since open files point to them
        self._methods: dict[int, tuple[_Methods, _Methods, list[Any]]] = {}
        self._real_open = _Open(self._vfs.open)
        self._our_open = _Open(self._open)
        self._vfs.open = ctypes.cast(self._our_open, c_void_p).value
        self.disk: Disk | None = None

    def _open(self, vfs: int, name: int | None, handle: int, flags: int, out: int) -> int:
        code = self._real_open(vfs, name, handle, flags, out)
        if code == OK and name is not None and flags & (_MAIN | _WAL):
            slot = ctypes.cast(handle, POINTER(c_void_p))
            address = slot[0]
            assert address is not None
            real, ours, _ = self._methods.get(address) or self._wrap(address)
            self._files[handle] = DiskFile(handle, ctypes.string_at(name).decode(), real)
            slot[0] = ctypes.addressof(ours)
        return code

    def _wrap(self, address: int) -> tuple[_Methods, _Methods, list[Any]]:
        real = _Methods.from_address(address)
        ours = _Methods.from_buffer_copy(real)
        close, read, write = _Close(real.close), _Transfer(real.read), _Transfer(real.write)
        truncate, sync = _Truncate(real.truncate), _Sync(real.sync)

        def our_close(handle: int) -> int:
            self._files.pop(handle, None)
            return close(handle)

        def our_read(handle: int, buffer: int, size: int, offset: int) -> int:
            code = self._ask("read", handle, offset, size)
            return read(handle, buffer, size, offset) if code is None else code

        def our_write(handle: int, buffer: int, size: int, offset: int) -> int:
            code = self._ask("write", handle, offset, ctypes.string_at(buffer, size))
            return write(handle, buffer, size, offset) if code is None else code

        def our_truncate(handle: int, size: int) -> int:
            code = self._ask("truncate", handle, size)
            return truncate(handle, size) if code is None else code

        def our_sync(handle: int, flags: int) -> int:
            code = self._ask("sync", handle)
            return sync(handle, flags) if code is None else code

        kept = [_Close(our_close), _Transfer(our_read), _Transfer(our_write), _Truncate(our_truncate), _Sync(our_sync)]
        for field, function in zip(("close", "read", "write", "truncate", "sync"), kept, strict=True):
            setattr(ours, field, ctypes.cast(function, c_void_p).value)
        self._methods[address] = made = (real, ours, kept)
        return made

    def _ask(self, operation: str, handle: int, *arguments: Any) -> int | None:
        disk = self.disk
        return None if disk is None else getattr(disk, operation)(self._files[handle], *arguments)


_wrapped: list[_Wrapped] = []


def install(disk: Disk | None) -> None:
    """Have a disk decide about all database files that this process opens from now on; none: nothing goes wrong."""
    if not _wrapped:
        _wrapped.append(_Wrapped())
    _wrapped[0].disk = disk


@contextmanager
def installed(disk: Disk) -> Generator[None]:
    install(disk)
    try:
        yield
    finally:
        install(None)


def limit_memory() -> Callable[[bool], None]:
    """A switch that gives SQLite no more memory than it has, or all again."""
    library = _library()
    limit, used = library.sqlite3_hard_heap_limit64, library.sqlite3_memory_used
    limit.restype = used.restype = c_int64
    limit.argtypes = [c_int64]

    def switch(on: bool) -> None:
        limit(used() if on else 0)

    return switch
