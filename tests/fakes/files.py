"""Documents as programs save them: PDF pages line by line, Word files with headings, lists and tables."""

import io
import zipfile
import zlib
from collections.abc import Sequence

import docx

TITLE_SIZE = 24
TEXT_SIZE = 10


def make_pdf(pages: Sequence[Sequence[str]], *, title: str = "", created: str = "", extra_trailer: str = "") -> bytes:
    """A PDF with a line of text for each string; one that begins with "# " is set big, as a title is.

    The font is none of the machine's: glyphs stand for code units, and a ToUnicode map says which, so that any
    language of the basic plane can be written.
    """
    characters = sorted({ord(character) for page in pages for line in page for character in line})
    page_numbers = [6 + 2 * place for place in range(len(pages))]
    kids = " ".join(f"{number} 0 R" for number in page_numbers)
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        3: b"<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H"
        b" /DescendantFonts [4 0 R] /ToUnicode 5 0 R >>",
        4: b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any /DW 600"
        b" /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
        5: _stream(_to_unicode(characters)),
    }
    for number, page in zip(page_numbers, pages, strict=True):
        objects[number] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842]"
            b" /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % (number + 1)
        )
        objects[number + 1] = _stream(_text_operators(page))
    last = len(objects) + 1
    title_hex = title.encode("utf-16-be").hex().encode()
    objects[last] = b"<< /Title <feff%s> /CreationDate (%s) >>" % (title_hex, created.encode())
    return _file(objects, f"/Root 1 0 R /Info {last} 0 R {extra_trailer}")


def make_pdf_bomb(*, times: int) -> bytes:
    """A PDF of one page that shows a letter so many times: a thousand times smaller than what a reader makes of it."""
    content_stream = zlib.compress(b"BT /F1 10 Tf 50 50 Td " + b"<0041> Tj " * times + b"ET", level=9)
    stream = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(content_stream), content_stream)
    plain = make_pdf([["A"]])
    return _replace(plain, _stream(_text_operators(["A"])), stream)


def make_locked_pdf() -> bytes:
    """A PDF that opens only with a password, which nobody knows."""
    lock = f"<< /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <{'5a' * 32}> /U <{'a5' * 32}> >>"
    return make_pdf([["Nobody reads this."]], extra_trailer=f"/Encrypt {lock} /ID [<{'00' * 16}> <{'00' * 16}>]")


def _text_operators(lines: Sequence[str]) -> bytes:
    operators = [b"BT"]
    height = 800
    for line in lines:
        size = TITLE_SIZE if line.startswith("# ") else TEXT_SIZE
        height -= size + 4
        stream = line.removeprefix("# ").encode("utf-16-be").hex().encode()
        operators.append(b"/F1 %d Tf 1 0 0 1 50 %d Tm <%s> Tj" % (size, height, stream))
    return b"\n".join([*operators, b"ET"])


def _to_unicode(characters: Sequence[int]) -> bytes:
    pairs = "\n".join(f"<{code:04x}> <{code:04x}>" for code in characters)
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Any def /CMapType 2 def\n"
        "1 begincodespacerange <0000> <ffff> endcodespacerange\n"
        f"{len(characters)} beginbfchar\n{pairs}\nendbfchar\nendcmap end end"
    ).encode()


def _replace(pdf: bytes, old: bytes, new: bytes) -> bytes:
    """PDFium finds objects by itself where the table of their places is wrong."""
    assert old in pdf
    return pdf.replace(old, new)


def _stream(content: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)


def _file(objects: dict[int, bytes], trailer: str) -> bytes:
    content = b"%PDF-1.7\n"
    places = []
    for number, body in sorted(objects.items()):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    return content + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n"
        % (size, table, size, trailer.encode(), len(content))
    )


def make_docx(*blocks: tuple[str, str] | list[list[str]], title: str = "") -> bytes:
    """A Word file of paragraphs, each with the name of its style, and of tables, row by row."""
    document = docx.Document()
    document.core_properties.title = title
    for block in blocks:
        if isinstance(block, tuple):
            document.add_paragraph(block[1], style=block[0])
            continue
        table = document.add_table(len(block), len(block[0]))
        for row, cells in zip(table.rows, block, strict=True):
            for cell, text in zip(row.cells, cells, strict=True):
                cell.text = text
    return docx_bytes(document)


def docx_bytes(document: "docx.document.Document") -> bytes:
    content = io.BytesIO()
    document.save(content)
    return content.getvalue()


def make_docx_bomb(*, paragraphs: int) -> bytes:
    """A Word file of so many empty paragraphs, 7 bytes each before they are packed."""
    archive = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(make_docx())) as plain, zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bomb:
        for entry in plain.infolist():
            body = plain.read(entry)
            if entry.filename == "word/document.xml":
                body = body.replace(b"<w:body>", b"<w:body>" + b"<w:p/> " * paragraphs)
            bomb.writestr(entry.filename, body)
    return archive.getvalue()


def make_attributes_bomb(*, attributes: int) -> bytes:
    """A page of one word, in an element with so many attributes."""
    return b"<html><body><p " + b"a1=b c " * attributes + b">wind</p></body></html>"
