import subprocess
import sys

import pytest


@pytest.mark.slow
def test_neither_pandas_nor_an_optimizer_is_imported_before_it_is_needed():
    modules = "reconstruction, marginals, differencing, membership, linkage, anonymity, averaging"
    code = (
        f"from toolkit.teaching.attacks import {modules}; import sys; sys.exit('pandas' in sys.modules or "
        "'scipy.optimize' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
