"""The process of `airrvec.input.files.separate`."""

import json
import os
import resource
import sys

from airrvec.core.arrow_stream import packed
from airrvec.core.errors import InputError
from airrvec.input.files import hdf5, parquet
from airrvec.input.files.container import unreadable
from airrvec.input.files.processor_time import limit_time
from airrvec.input.files.separate import ANNDATA, PARQUET

ANSWERS = {ANNDATA: hdf5.answer, PARQUET: parquet.answer}


def serve() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keeps what libraries print out of the answers
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        request, content = json.loads(line), b""
        kind = request.pop("kind")
        limit_time(os.path.getsize(request["path"]) if os.path.exists(request["path"]) else 0)
        try:
            answer, table = ANSWERS[kind](**request)
            if table is not None:
                content = memoryview(packed(table))
        except InputError as error:
            answer = {"error": error.described}
        except Exception as error:  # HDF5, anndata and awkward raise many types
            answer = {"error": unreadable(request["path"], kind, error).described}
        answers.write(json.dumps({**answer, "n_bytes": len(content)}, allow_nan=False).encode() + b"\n")
        answers.write(content)
        answers.flush()
