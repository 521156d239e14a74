#!/usr/bin/env bash
# The whole test suite on a Debian or Ubuntu machine: installs what it needs (lavapipe,
# a Python venv with foreign DDS and bag readers, GDAL and OpenCV, libclang for the r2r bindings), then
# checks format, lints and documentation, and runs every test.
#
#   tests/run.sh                  everything
#   SELENE_DATA=DIR tests/run.sh  with third-party terrain (else those tests say "skipped")
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n=== %s\n' "$*"; }

system_packages=(build-essential python3 python3-venv mesa-vulkan-drivers libvulkan1 libclang-dev)
python_packages=(
  cyclonedds==11.0.1 rosbags==0.11.9 mcap==1.6.0 mcap-ros2-support==0.6.0
  rasterio==1.4.4 numpy==2.4.6 skyfield==1.55 jplephem==2.24
  opencv-python-headless==5.0.0.93
)

step "system packages"
missing=()
for package in "${system_packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if ((${#missing[@]})); then
  as_root=(); [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq "${missing[@]}"
fi

step "python peers"
venv=target/peers
mkdir -p target
[ -x $venv/bin/python ] || python3 -m venv $venv
$venv/bin/python -m pip install --quiet "${python_packages[@]}"
export SELENE_PEERS_PYTHON="$PWD/$venv/bin/python"

# Third-party data beside the repository, where there are any.
if [ -z "${SELENE_DATA:-}" ] && [ -d ../shared/data ]; then
  SELENE_DATA=$(cd ../shared/data && pwd); export SELENE_DATA
fi

export CARGO_TERM_COLOR=never
step "format"; cargo fmt --all --check
step "lints"; cargo clippy --release --workspace --all-targets --quiet -- -D warnings
step "documentation"; RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps --quiet
step "r2r adapter type-checks"; cargo check --release --quiet -p selene --no-default-features --features r2r-doc-only
step "build"; cargo build --release --quiet
step "tests"; cargo test --release --workspace --quiet
