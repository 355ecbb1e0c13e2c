"""The framing that wandb and SwanLab share: LevelDB's log format, blocks of 32 KiB with records in pieces."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from rollprof.schema.ledger import Ledger
from rollprof.sources.opening import open_bytes
from rollprof.sources.records import SniffedFile

FILE_HEADER = 7
BLOCK = 32 << 10
_PIECE = struct.Struct("<IHB")
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
MAX_RECORD = 256 << 20


def read_framed(file: SniffedFile, ledger: Ledger) -> Iterator[tuple[int, bytes]]:
    """(offset, bytes) of each whole record. What a killed run left of the last one is noted, a record whose
    checksum is wrong is skipped."""
    count, whole, start, size = 0, bytearray(), 0, 0
    open_record = damaged = False
    with open_bytes(file.path, file.compression) as stream:
        stream.read(FILE_HEADER)
        block, at, base = stream.read(BLOCK - FILE_HEADER), 0, FILE_HEADER
        while block:
            if at + _PIECE.size > len(block):  # what is left of a block is padding
                base += len(block)
                block, at = stream.read(BLOCK), 0
                continue
            checksum, size, kind = _PIECE.unpack_from(block, at)
            offset = base + at
            piece = block[at + _PIECE.size : at + _PIECE.size + size]
            at += _PIECE.size + size
            if kind == 0 and size == 0:  # a preallocated rest of the block
                at = len(block)
                continue
            if len(piece) < size:
                ledger.skip(file.name, offset, "cut inside the last record")
                break
            if kind in (FULL, FIRST):
                whole, start, damaged = bytearray(), offset, False
            elif not open_record:
                damaged = True
            damaged = damaged or zlib.crc32(piece, zlib.crc32(bytes((kind,)))) != checksum
            open_record = kind in (FIRST, MIDDLE)
            if len(whole) < MAX_RECORD:
                whole += piece
            if kind in (FULL, LAST):
                if damaged:
                    ledger.skip(file.name, start, "a record whose checksum is wrong")
                else:
                    count += 1
                    yield start, bytes(whole)
        else:
            if open_record:
                ledger.skip(file.name, start, "cut inside the last record")
    ledger.ok(count)
