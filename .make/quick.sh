#!/bin/sh
# The fast tests, in two processes that take about as long as each other. With xdist, ten thousand small tests spend a third of
# the time on telling how they went.
set -u
python=$1
half='tests/budget tests/central tests/learning tests/planning tests/show tests/survey'

run() { OPENBLAS_NUM_THREADS=1 "$python" -m pytest -p no:nbval -p no:xdist -q --ignore tests/browser -m 'not slow and not browser and not postgres and not spark' "$@"; }

if [ -n "${T:-}" ]; then
    run $T
    exit
fi
said=$(mktemp)
trap 'rm -f "$said"' EXIT
run $half >"$said" 2>&1 &
run $(printf -- '--ignore %s ' $half)
here=$?
wait $!
there=$?
cat "$said"
[ "$here" -eq 0 ] && [ "$there" -eq 0 ]
