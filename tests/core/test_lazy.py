import subprocess
import sys

import pytest

from toolkit.core.extras import lazy


@pytest.mark.slow
def test_a_module_is_loaded_when_it_is_asked_for_and_not_before():
    code = (
        "import sys; from toolkit.core.extras import lazy; assert 'wave' not in sys.modules; "
        "lazy('wave', 'open'); assert 'wave' in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_name_that_is_not_there_is_an_error_of_pythons_own():
    with pytest.raises(AttributeError):
        lazy("toolkit.core.checks", "nothing")


@pytest.mark.slow
def test_results_and_surveys_load_no_pictures():
    """Statistics must work where matplotlib is not installed."""
    code = (
        "import sys, toolkit.survey.results, toolkit.survey.spec; assert not {'matplotlib', 'IPython'} & "
        "set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
