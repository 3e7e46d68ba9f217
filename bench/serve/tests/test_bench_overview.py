import pathlib

import pytest

from comparison import overview

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_the_readme_shows_the_figures_of_the_results():
    readme = (ROOT / "README.md").read_text()
    assert overview.put_into(readme, overview.text(overview.Results(ROOT / "bench/results"))) == readme


def test_every_row_of_the_overview_was_measured():
    rows = list(overview.shown(overview.Results(ROOT / "bench/results")))
    assert [row[0] for row in rows] == [label for _, label in overview.ROWS]


def test_a_page_without_the_marks_is_refused():
    with pytest.raises(ValueError, match="0 places"):
        overview.put_into("# A page", "text")
