#!/usr/bin/env bash
# The Python package: built as users build it, into an environment of its own, and tested beside the program, SELENE_PROGRAM or the
# one of these sources. Both are built in the workspace's folder, so that little is left to build after tests/run.sh.
#
#   tests/python.sh               everything but Stable-Baselines3's own check
#   SELENE_SB3=1 tests/python.sh  that too: it brings PyTorch, which is larger than all the rest
set -euo pipefail
cd "$(dirname "$0")/.."

package_packages=(maturin==1.16.0 pytest==9.2.0 numpy==2.4.6 gymnasium==1.4.0 pettingzoo==1.27.0)
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
python=$target/python
[ -x "$python/bin/python" ] || python3 -m venv "$python"
"$python/bin/python" -m pip install --quiet "${package_packages[@]}"
if [ -n "${SELENE_SB3:-}" ]; then
  "$python/bin/python" -m pip install --quiet "stable-baselines3>=2.7,<3"
fi
# Campaigns are run over two local nodes of Ray where it is there.
"$python/bin/python" -m pip install --quiet ray==2.60.0 || echo "SKIPPED: no Ray here: campaigns over it are not tested"
[ -n "${SELENE_PROGRAM:-}" ] || cargo build --release --quiet
export SELENE_PROGRAM="${SELENE_PROGRAM:-$target/release/selene}"
rm -rf "$target/wheels"
"$python/bin/maturin" build --release --quiet --out "$target/wheels"
"$python/bin/python" -m pip install --quiet --no-deps --force-reinstall "$target"/wheels/selene-*.whl
"$python/bin/python" -m pytest --quiet -rs
