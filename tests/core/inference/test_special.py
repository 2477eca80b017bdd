import subprocess
import sys

import pytest
import scipy.special

from toolkit.core.inference import special


def test_each_function_is_the_one_of_its_name() -> None:
    assert all(special._load(getattr(special, name).name) is getattr(scipy.special, name) for name in special._NAMES)
    assert not hasattr(special, "betaink")
    assert special.betainc(2.0, 3.0, 0.4) == scipy.special.betainc(2.0, 3.0, 0.4)


@pytest.mark.slow
def test_a_server_and_a_script_start_without_scipy() -> None:
    code = "import sys, toolkit, toolkit.survey.serving.process; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
