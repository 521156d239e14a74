#!/usr/bin/env bash
# Builds the Python package as users do, installs its wheel into a virtual environment that is made anew each time, with
# the dependencies that it declares, and tests it together with the program: SELENE_PROGRAM or the one built from these
# sources. The wheel is built in the workspace's target folder, in the release profile.
#
#   tests/python.sh                         everything except Stable-Baselines3's own check
#   SELENE_SB3=1 tests/python.sh            with that check, which needs PyTorch, larger than all other dependencies
#   SELENE_REQUIRE_PEERS=1 tests/python.sh  with that check; fails if anything cannot be installed: no test is skipped
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(maturin==1.16.0 uv==0.13.8)
pins=(
  gymnasium==1.4.0 mujoco==4.0.0 mypy==2.4.1 numpy==2.4.6 pettingzoo==1.27.0 pyarrow==26.0.1 pytest==9.2.0 ray==2.60.0
  stable-baselines3==2.9.2
)
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

# Without what is missing the tests say that they are skipped, or fail where SELENE_REQUIRE_PEERS is set.
missing() {
  echo "$1"
  [ -z "${SELENE_REQUIRE_PEERS:-}" ] || exit 1
}

tools=$target/python/tools
[ -x "$tools/bin/python" ] || python3 -m venv "$tools"
if ! "$tools/bin/python" -m pip install --quiet "${build_packages[@]}"; then
  missing "no maturin here: the Python package is not tested"
  exit 0
fi
[ -n "${SELENE_PROGRAM:-}" ] || cargo build --release --quiet
export SELENE_PROGRAM="${SELENE_PROGRAM:-$target/release/selene}"
rm -rf "$target/wheels"
"$tools/bin/maturin" build --release --quiet --out "$target/wheels"
wheel=$(echo "$target"/wheels/selene-*.whl)

venv=$target/python/venv
rm -rf "$venv"
"$tools/bin/uv" venv --quiet --python python3 "$venv"
pinned=$target/python/pins.txt
printf '%s\n' "${pins[@]}" > "$pinned"
# uv is fast; where it does not reach the packages, pip may, which has settings of its own.
install() {
  "$tools/bin/uv" pip install --quiet --python "$venv/bin/python" -c "$pinned" "$@" ||
    "$tools/bin/python" -m pip --python "$venv/bin/python" install --quiet -c "$pinned" "$@"
}
# From the repository as users install it, by pip and by uv, and alone: what it declares is enough to step a world. uv is
# given maturin and the dependencies, because it may not reach the packages.
step_a_world() { "$venv/bin/python" -c "import selene; selene.World('learning_plain').step()"; }
"$tools/bin/python" -m pip --python "$venv/bin/python" install --quiet -c "$pinned" . "${build_packages[0]}"
step_a_world
"$tools/bin/uv" pip install --quiet --python "$venv/bin/python" --no-build-isolation --no-deps --reinstall-package selene .
step_a_world
# From here on it is the wheel that is tested.
"$tools/bin/python" -m pip --python "$venv/bin/python" uninstall --quiet --yes selene maturin
install "$wheel[learn,test]"
# A comparison with MuJoCo, and campaigns over two local nodes of Ray, are tested where these can be installed.
install "$wheel[bench]" || missing "no MuJoCo here: the comparison with it is not tested"
install "$wheel[campaign]" || missing "no Ray here: campaigns over it are not tested"
if [ -n "${SELENE_SB3:-}${SELENE_REQUIRE_PEERS:-}" ]; then install stable-baselines3; fi

"$venv/bin/python" -m mypy.stubtest selene._native
"$venv/bin/python" -m pytest --quiet -rs
