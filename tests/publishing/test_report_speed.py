"""The report computes each thing once, and keeps the charts of Vega."""

from functools import partial

import pooch
import pytest
import vl_convert
from persons_of_a_report import X, report

from pymoo_anon.publishing.report import subject


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Count what is asked of vl_convert, with a cache of one's own."""
    asked = []
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / name)

    def counted(name, own, *given):
        asked.append(name)
        return own(*given)

    for name in ("javascript_bundle", "vegalite_to_vega"):
        monkeypatch.setattr(vl_convert, name, partial(counted, name, getattr(vl_convert, name)))
    return asked


def test_script_and_charts_are_made_once_and_anew_where_their_files_are_damaged(calls, tmp_path):
    first, files = report(tmp_path / "first.html"), sorted((tmp_path / "pymoo_anon").iterdir())
    assert calls.count("javascript_bundle") == 1
    assert "vegalite_to_vega" in calls
    calls.clear()
    assert report(tmp_path / "second.html") == first
    assert calls == []
    whole = [path.read_bytes() for path in files]
    for i, (path, data) in enumerate(zip(files, whole, strict=True)):
        path.write_bytes(data[:-9] if i % 2 else data[:99] + data[100:])
    assert report(tmp_path / "third.html") == first
    assert calls.count("javascript_bundle") == 1
    assert [path.read_bytes() for path in files] == whole


@pytest.mark.slow
def test_without_a_folder_for_the_cache_the_report_is_the_same(calls, tmp_path, monkeypatch):
    first = report(tmp_path / "first.html")
    (tmp_path / "file").touch()
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "file")
    assert report(tmp_path / "second.html") == first


def test_each_release_is_inferred_from_once_and_so_is_the_table(tmp_path, monkeypatch):
    asked, by_class = [], subject.by_class
    monkeypatch.setattr(subject, "by_class", lambda counted: asked.append(counted) or by_class(counted))
    report(tmp_path / "report.html")
    n_sensitive = 1
    assert len(asked) == n_sensitive * (len(X) + 1)
