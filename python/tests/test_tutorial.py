"""The tutorial's code blocks run unchanged, one after the other, and their assertions hold."""

import re

from conftest import ROOT


def test_the_tutorial_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/python.md").read_text()
    blocks = [(match.start(), match.group(1)) for match in re.finditer(r"```python\n(.*?)```", text, re.DOTALL)]
    assert len(blocks) > 5
    names: dict[str, object] = {}
    for start, block in blocks:
        # So that errors show the line numbers of the page.
        line = text.count("\n", 0, start) + 1
        exec(compile("\n" * line + block, "docs/python.md", "exec"), names)
