"""The notebook of examples/ runs from top to bottom, and its cells show drawings."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / "examples" / "notebook" / "desk.ipynb"


@pytest.mark.filterwarnings("ignore")  # the kernel's clients use what Python has deprecated
def test_a_notebook_draws_what_its_cells_come_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    nbformat: Any = import_module("nbformat")  # neither has types
    nbclient: Any = import_module("nbclient")
    notebook = nbformat.read(FILE, as_version=4)
    nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    cells: list[Any] = [cell for cell in notebook.cells if cell.cell_type == "code"]
    drawn = [
        [output.data["text/html"] for output in cell.outputs if "text/html" in output.get("data", {})] for cell in cells
    ]
    tools, plan, result, stream = drawn
    assert "find_orders" in tools[0]
    assert "<svg" in plan[0]
    assert "About your lamp: paid 40.00 for o1." in result[0]
    assert "<b>over</b>" in stream[-1]
    assert cells[-1].outputs[-1].data["text/plain"] == "'You have 2 orders.'"
