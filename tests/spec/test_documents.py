"""The generated pages say what the code says; a change of either without the other is red."""

import pytest

from crashworthy.spec import documents


@pytest.mark.parametrize("name", sorted(documents.PAGES))
def test_page_is_what_the_code_declares(name: str) -> None:
    written = (documents.folder() / name).read_text(encoding="utf-8")

    assert written == documents.PAGES[name](), f"run: python -m crashworthy.spec.documents ({name})"


def test_page_comparison_notices_a_changed_row() -> None:
    page = documents.lifecycles_page()

    assert "| RUN.T35 | Active | Ending | completes | Ended |" in page
    assert page != page.replace("RUN.T35 | Active", "RUN.T35 | Stopping")
