"""Refused commands: one sentence tells the mistake and the remedy, and no file is touched."""

import re
import shlex
from pathlib import Path

import pytest
from command import OF_OWN_TABLE, made_in, own, refused, write_own_table, write_project
from malformed_projects import RIGHT
from odd_files import write_odd_files

LINES = Path(__file__).with_name("refusals.txt").read_text(encoding="utf-8").splitlines()
REFUSALS = [(line[2:], LINES[i + 1]) for i, line in enumerate(LINES) if line.startswith("$ ")]


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    """Make a folder with a table, projects with and without a front of k 40, 20, 8 and 4, and files of other kinds."""
    with made_in(tmp_path_factory, "search picked.toml", "pick picked.toml --row 3") as folder:
        write_own_table(folder)
        own()
        Path("my.toml").write_text(RIGHT, encoding="utf-8")
        roles = {**OF_OWN_TABLE, "diagnosis": "sensitive", "paid": "label", "note": "drop"}
        write_project(roles, file="picked.toml", search={"objectives": ["k", "l", "GLM"], "suppression": 0})
        others = {
            "demo/run.json": '{"options": {"demo": "census"}}',
            "empty.csv": "",
            "names.csv": "a,a=b,c\n",
            "nameless.csv": "a,,c\n1,2,3\n",
            "nothing.csv": "note\nx\ny\n",
            "broken.csv": "a;x;1\nb;x;2\n",
            "zip.csv": "zip\n02130\n02131\n",
            "hierarchies/age.csv": "age,note\n20,a\n30,b\n20,c\n",
            "made.html": "mine",
            "taken/hierarchies": "mine",
            "undecided.toml": RIGHT.replace('[columns."note"]\nrole = "drop"\n', ""),
            "misspelt.toml": RIGHT.replace('[columns."note"]', '[columns."nota"]'),
            "heard.toml": f'{RIGHT}\n[[audience]]\nname = "public"\nrequire = "k>=20"\n',
            "out.csv": "age,zip,ill\n20–39,0213*,flu\n",
            "out.csv.codebook.csv": "column,label,members\nage,20–39,20–39\nzip,0213*,02130 | 02131\n",
        }
        for name in ("demo", "empty", "hierarchies", "taken"):
            Path(name).mkdir()
        for name, text in others.items():
            Path(name).write_text(text, encoding="utf-8")
        write_odd_files()
    return folder


@pytest.mark.parametrize(("asked", "sentence"), REFUSALS, ids=[asked for asked, _ in REFUSALS])
def test_a_refused_command_says_why_in_one_sentence_and_leaves_all_files_alone(refusing, monkeypatch, asked, sentence):
    monkeypatch.chdir(refusing)
    if asked.startswith("app "):
        # A screen that is not refused would wait for Ctrl-C.
        monkeypatch.setattr("uvicorn.Server.run", lambda *given, **options: None)
    told = refused(*shlex.split(asked))
    assert re.fullmatch(re.escape(sentence).replace("…", ".*"), told), told
