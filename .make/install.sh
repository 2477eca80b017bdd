#!/bin/sh
# Make a virtual environment with this checkout, its extras and the groups of developers (all but Spark), or add one package to it.
# uv does it five times as fast as pip. pip is there either way, for `%pip` in a notebook.
# VERSIONS=--resolution=lowest-direct asks for the lowest versions that pyproject.toml allows (uv only).
set -eu
venv=$1
package=${2:-}
versions=${VERSIONS:---constraint=constraints.txt}

say() { printf '%s\n' "$*" >&2; }

newest_python() {
    for name in ${PYTHON:-python3.14 python3.13 python3.12 python3.11 python3 python}; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            printf '%s\n' "$name"
            return
        fi
    done
    say "Python 3.11 or newer must be on the PATH, found: ${PYTHON:-$(python3 --version 2>&1 || echo none)}."
    say "Install it (for example from your system's packages), or name it: make PYTHON=/path/to/python3.12 lab"
    exit 1
}

python=$(newest_python)
extras='--group site --group docs --group test --editable .[all,course]'

# shellcheck disable=SC2086  # $extras are several words
wanted() { if [ -n "$package" ]; then "$@" "$package"; else "$@" $extras; fi; }

if command -v uv >/dev/null 2>&1; then
    [ -n "$package" ] || say "Setting up $venv with uv ..."
    uv venv --quiet --seed --allow-existing --python "$python" "$venv"
    wanted env VIRTUAL_ENV="$venv" uv pip install --quiet "$versions"
    exit
fi
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    say "The modules venv and ensurepip are missing from $python: without them no environment can be made."
    say "On Debian or Ubuntu install them with: apt-get install python3-venv. Or install uv, which needs neither."
    exit 1
fi
if [ -z "$package" ]; then
    say "Setting up $venv; the first time takes a minute ..."
    "$python" -m venv "$venv"
fi
pip() { "$venv/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check "$@"; }
# uv does not read pip's settings: where these are needed to reach a registry, pip does it alone.
if { [ -x "$venv/bin/uv" ] || pip uv 2>/dev/null; } &&
    wanted env VIRTUAL_ENV="$venv" "$venv/bin/uv" pip install --quiet "$versions" 2>/dev/null; then
    exit
fi
say "... with pip, which takes another minute ..."
pip --upgrade 'pip>=25.1'  # which knows dependency groups
wanted pip "$versions"
