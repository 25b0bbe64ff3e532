"""Writes GGUF, the format of llama.cpp's models, version 3: metadata, then tensors, each at a multiple of 32 bytes."""

import struct

F32, F16 = 0, 1
ALIGNMENT = 32
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
FORMATS = {UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}
BYTES_OF = {F32: 4, F16: 2}


def write(path, metadata, tensors):
    """Metadata are (type, value) by name, of lists their elements' type; tensors (type, rows, columns, data) by name.

    A tensor without data is zero, and takes no space on a file system with sparse files.
    """
    with open(path, "wb") as file:
        file.write(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata)))
        for name, (kind, value) in metadata.items():
            file.write(_string(name))
            if isinstance(value, list):
                file.write(struct.pack("<IIQ", ARRAY, kind, len(value)))
                file.writelines(_value(kind, element) for element in value)
            else:
                file.write(struct.pack("<I", kind) + _value(kind, value))
        offsets, end = [], 0
        for name, (kind, rows, columns, _) in tensors.items():
            shape = (columns, rows) if rows else (columns,)
            file.write(_string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, end))
            offsets.append(end)
            end = _aligned(end + max(rows, 1) * columns * BYTES_OF[kind])
        start = _aligned(file.tell())
        for offset, (_, _, _, data) in zip(offsets, tensors.values()):
            if data is not None:
                file.seek(start + offset)
                file.write(data)
        file.truncate(start + end)


def _aligned(offset):
    return -(-offset // ALIGNMENT) * ALIGNMENT


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(kind, value):
    return _string(value) if kind == STRING else struct.pack(FORMATS[kind], value)
