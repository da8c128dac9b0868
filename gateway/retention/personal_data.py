"""All that is kept about one person, as one file: person.json, and what they sent, in files."""

import asyncio
import io
import json
import zipfile
from collections.abc import Mapping
from functools import partial

from adapters.filenames import safe_name
from storage.blobs.base import BlobStore
from storage.records.entries import Json
from storage.records.retention.forgetting import Personal
from storage.store import Store, Transaction

NAME = "my-data.zip"


async def packed(store: Store, blobs: BlobStore, identity: str) -> bytes:
    """A ZIP archive. What is not there any more is named in it, without its content."""
    found: Personal = await store.read(partial(_data_of, identity=identity))
    contents = {}
    for digest in found.digests:
        if (data := await blobs.get(digest)) is not None:
            contents[digest] = data
    return await asyncio.to_thread(_archive, found, contents)


def _data_of(tx: Transaction, identity: str) -> Personal:
    return tx.people.data_of(identity)


def _archive(found: Personal, contents: Mapping[str, bytes]) -> bytes:
    names = {
        digest: f"files/{number}-{safe_name(name)}"
        for number, (digest, name) in enumerate(found.digests.items(), 1)
    }
    files: list[Json] = [
        {"hash": digest, "name": name, "file": names[digest] if digest in contents else None}
        for digest, name in found.digests.items()
    ]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        text = json.dumps({**found.facts, "files": files}, ensure_ascii=False, indent=1)
        archive.writestr("person.json", text.encode("utf-8", "replace"))
        for digest, data in contents.items():
            archive.writestr(names[digest], data)
    return packed.getvalue()
