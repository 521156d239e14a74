#!/usr/bin/env bash
# The Python package: built as users build it, into an environment of its own, and tested. Run tests/run.sh first: it builds
# the program that worlds are compared with.
set -euo pipefail
cd "$(dirname "$0")/.."

package_packages=(maturin==1.16.0 pytest==9.2.0 numpy==2.4.6 gymnasium==1.4.0 pettingzoo==1.27.0)
# The wheel is built as users build it, into an environment of its own; Stable-Baselines3 is checked with where it is there.
python=target/python
[ -x $python/bin/python ] || python3 -m venv $python
$python/bin/python -m pip install --quiet "${package_packages[@]}"
rm -rf target/wheels
$python/bin/maturin build --release --quiet --out target/wheels
$python/bin/python -m pip install --quiet --no-deps --force-reinstall target/wheels/selene-*.whl
SELENE_PROGRAM="$PWD/target/release/selene" $python/bin/python -m pytest --quiet
