"""Files that hold no table, or more than one, for commands that are refused."""

import gzip
import sqlite3
import zipfile
from pathlib import Path

import duckdb
import pandas as pd
import xlsxwriter

ZIP, GZIP, TABLE = b"PK\3\4" + bytes(26), b"\x1f\x8b", "a,b\n1,2\n"

#: Files by name, as text or bytes.
FILES = {
    "garbage1.csv": GZIP + bytes(range(200)),
    "garbage2.csv": GZIP,
    "garbage3.csv": b"PK\3\4",
    "garbage4.csv": b"PK\3\4" + bytes(99),
    "book.csv": ZIP + b"[Content_Types].xml" + bytes(99),
    "libre.csv": ZIP + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet" + bytes(99),
    "old.csv": bytes.fromhex("d0cf11e0a1b11ae1") + bytes(99),
    "sqlite.csv": b"SQLite format 3\0" + bytes(99),
    "parquet.csv": b"PAR1" + bytes(99),
    "duck.csv": bytes(8) + b"DUCK" + bytes(99),
    "duck.db": bytes(8) + b"DUCK" + bytes(99),
    "cut.sqlite": b"SQLite format 3\0" + bytes(50),
    "none.sqlite": b"",
    "empty.xlsx": b"",
    "uneven.csv.gz": gzip.compress(b"a,b\n1,2\n3\n"),
    "excel.csv": "sep=;\na;b\n1;2\n",
    "rows.csv": '"a","b"\n"1",1,2\n"2",3,4\n',
    # Rows that end with a comma shift nothing.
    "trailing.csv": "a,b\n" + "1,2,\n" * 9,
    "uneven.csv": "a,b,c\n1,2,3\n1,2,3,4\n1,2\n",
    "twice.csv": "a,b,a,b\n1,2,3,4\n",
    "unclosed.csv": 'a,b\n1,2\n"3,4\n',
    "latin.csv": "age,note\n20,x\n21,Erkältung\n".encode("latin-1"),
    "titled.csv": "Admissions\nof 2024\na,b\n" + "1,2\n" * 30,
    "blanks.csv": "age sex\n20 F\n21 M\n",
    "umlaut.csv": "age,note\n20,grün\n",
    "odd.toml": b"\xff\xfe",
    "garbage.parquet": "a,b\n1,2\n",
    "large.ndjson": '{"a": 1.5}\n{"a": 90071992547409930}',
    "list.ndjson": '{"a": [1]}',
    "object.ndjson": '{"a": {"b": 1}}',
    "case.ndjson": '{"a": 1, "A": 2}',
    "cut.ndjson": '{"a": 1',
    "empty.ndjson": "",
    "array.ndjson": "[1, 2]",
    **{f"t.{ending}": GZIP + bytes(99) for ending in ("sav", "dta", "rds", "json", "tar.gz", "xz")},
}


def write_archives():
    for name, members in {"two": ["a.csv", "b.csv"], "none": ["folder/"], "locked": ["a.csv"]}.items():
        with zipfile.ZipFile(f"{name}.zip", "w") as archive:
            for member in members:
                archive.writestr(member, "" if member.endswith("/") else TABLE)
    with zipfile.ZipFile("uneven.zip", "w") as archive:
        archive.writestr("t.csv", f"{TABLE}3\n")
    # The flags of its entry and of the directory say that it is encrypted.
    content = bytearray(Path("locked.zip").read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    Path("locked.zip").write_bytes(content)
    Path("cut.zip").write_bytes(content[:60])


def write_workbooks():
    with pd.ExcelWriter("two.xlsx", engine="xlsxwriter") as writer:
        for name in ("one", "the other"):
            pd.DataFrame({"age": [20, 21]}).to_excel(writer, index=False, sheet_name=name)
    Path("cut.xlsx").write_bytes(Path("two.xlsx").read_bytes()[:2000])
    for name, row in {"titled": [], "merged": ["Ann", "Lee"]}.items():
        with xlsxwriter.Workbook(f"{name}.xlsx") as book:
            sheet = book.add_worksheet()
            sheet.merge_range("A1:B1", "name")
            sheet.write_row("A2", row)
    # Other programs write its properties first.
    with zipfile.ZipFile("old.xls", "w") as book:
        book.writestr("docProps/app.xml", "")


def write_odd_files():
    """Write all of them into this folder."""
    for name, content in FILES.items():
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    write_archives()
    write_workbooks()
    sqlite3.connect("none.sqlite").close()
    duckdb.connect("my.duckdb").close()
    pd.DataFrame({"*": [1, 2], "k": [3, 4]}).to_parquet("pattern.parquet")
