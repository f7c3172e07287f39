"""Reads files that ducklake-ivm wrote, as pyarrow and polars see them.

Prints, per file, the columns with their Arrow types and one line per row, as Python writes the values. What polars reads
must be the same, but for maps; it is not asked about files whose names begin with `arrow_only`.
"""

import pathlib
import sys
import uuid

import polars
import pyarrow
import pyarrow.parquet


def table_of(path):
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    with pyarrow.OSFile(str(path)) as source, pyarrow.ipc.open_stream(source) as stream:
        return stream.read_all()


def frame_of(path, schema):
    # polars 1.35 has no maps: it fails on them in Parquet, and takes a NULL in Arrow for an empty one.
    columns = [field.name for field in schema if not pyarrow.types.is_map(field.type)]
    read = polars.read_parquet if path.suffix == ".parquet" else polars.read_ipc_stream
    return read(path, columns=columns)


def plain(value):
    """Both libraries' forms of one value, as one: a UUID in Parquet is 16 bytes to polars."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value.bytes if isinstance(value, uuid.UUID) else value


def main(paths):
    for path in paths:
        table = table_of(path)
        table.validate(full=True)
        print(f"{path.name}:")
        for field in table.schema:
            print(f"  {field.name}: {field.type}")
        columns = [column.to_pylist() for column in table.columns]
        for row in zip(*columns):
            print("  " + repr(list(row)))
        if path.name.startswith("arrow_only"):
            continue
        frame = frame_of(path, table.schema)
        assert len(frame.columns) > 0
        for name in frame.columns:
            # As text, in which NaN is equal to itself.
            read = repr([plain(value) for value in frame[name].to_list()])
            wanted = repr([plain(value) for value in table[name].to_pylist()])
            assert read == wanted, (path.name, name, read, wanted)


main([pathlib.Path(path) for path in sys.argv[1:]])
