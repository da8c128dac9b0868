"""Small PDFs, written by hand."""


def pdf(*pages: str, title: str = "") -> bytes:
    """One page for each text, in one line."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        content = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET" if text else ""
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< /Title ({title}) >>")
    return pdf_of(*(text.encode() for text in objects), info=len(objects))


def pdf_of(*objects: bytes, info: int = 0) -> bytes:
    """Of these objects, numbered from 1. The first is the catalog; `info`: which has the title."""
    made, places = b"%PDF-1.4\n", []
    for number, data in enumerate(objects, start=1):
        places.append(len(made))
        made += b"%d 0 obj\n%b\nendobj\n" % (number, data)
    size = len(objects) + 1
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n%b" % (size, rows)
    title = b" /Info %d 0 R" % info if info else b""
    tail = b"trailer\n<< /Size %d /Root 1 0 R%b >>\n" % (size, title)
    return made + head + tail + b"startxref\n%d\n%%%%EOF\n" % len(made)


def stream(data: bytes, keys: bytes = b"") -> bytes:
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(data), keys, data)
