#!/usr/bin/env bash
# Runs the whole test suite on a Debian or Ubuntu machine: installs what it needs (mdBook, lavapipe,
# Fast DDS, a Python venv with foreign DDS and bag readers, GDAL and OpenCV, urdfdom, colcon and ament_cmake, Chromium, libclang for
# the r2r bindings, iproute2 for links between network namespaces), then checks format, lints and documentation, runs every test,
# and builds and tests the Debian package (tests/package.sh) and the Python package (tests/python.sh).
#
#   tests/run.sh                  everything
#   SELENE_DATA=DIR tests/run.sh  with third-party terrain (else the tests that need it say "skipped")
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n=== %s (after %d s)\n' "$*" "$SECONDS"; }

system_packages=(build-essential python3 python3-venv mesa-vulkan-drivers libvulkan1 libclang-dev iproute2)
# Peers that not every distribution has under these names: without them, their tests say that they are skipped, or fail
# where SELENE_REQUIRE_PEERS is set.
peer_packages=(libfastrtps-dev liburdfdom-tools ament-cmake cmake colcon chromium)
python_packages=(
  cyclonedds==11.0.1 rosbags==0.11.9 mcap==1.6.0 mcap-ros2-support==0.6.0
  rasterio==1.4.4 numpy==2.4.6 skyfield==1.55 jplephem==2.24
  opencv-python-headless==5.0.0.93 kiss-icp==1.3.0
)
ros2_packages=(ros-jazzy-rclpy==7.1.6 ros-jazzy-rmw-fastrtps-cpp==8.4.3 ros-jazzy-sensor-msgs==5.3.6 ros-jazzy-nav-msgs==5.3.6)

mdbook=0.5.4  # builds the documentation site; Debian has no package of it

step "system packages"
is_missing() { ! dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }
missing=() missing_peers=()
for package in "${system_packages[@]}"; do is_missing "$package" && missing+=("$package"); done
for package in "${peer_packages[@]}"; do is_missing "$package" && missing_peers+=("$package"); done
if ((${#missing[@]} + ${#missing_peers[@]})); then
  as_root=(); [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  install() { DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq "$@"; }
  ((${#missing[@]} == 0)) || install "${missing[@]}"
  for package in ${missing_peers[@]+"${missing_peers[@]}"}; do install "$package" || echo "no $package here"; done
fi

step "python peers"
venv=target/peers
mkdir -p target
touch target/COLCON_IGNORE  # else colcon would find packages in there
[ -x $venv/bin/python ] || python3 -m venv $venv
$venv/bin/python -m pip install --quiet "${python_packages[@]}"
export SELENE_PEERS_PYTHON="$PWD/$venv/bin/python"

# A real ROS 2 as peer; its wheels are for CPython 3.10 to 3.12.
step "ROS 2"
ros=target/ros2
[ -x $ros/bin/python ] || python3 -m venv $ros
if $ros/bin/python -m pip install --quiet "${ros2_packages[@]}"; then
  export SELENE_ROS2_PYTHON="$PWD/$ros/bin/python"
else
  echo "no rclpy for this Python: its tests are skipped, or fail where SELENE_REQUIRE_PEERS is set"
fi

# Third-party data beside the repository, if present.
if [ -z "${SELENE_DATA:-}" ] && [ -d ../shared/data ]; then
  SELENE_DATA=$(cd ../shared/data && pwd); export SELENE_DATA
fi

export CARGO_TERM_COLOR=never
step "format"; cargo fmt --all --check
step "lints"; cargo clippy --release --workspace --all-targets --quiet -- -D warnings
step "documentation"; RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps --quiet
# Pages, links and commands are tested in nodes/selene; here the site itself is built.
step "documentation site"
if ! command -v mdbook > /dev/null; then
  cargo install --quiet --locked --no-default-features --features search --root target/tools "mdbook@$mdbook"
  export PATH="$PWD/target/tools/bin:$PATH"
fi
docs/site/build.sh
# Neither is in the default build: a real ROS 2 and tests/viewers.sh run them.
step "r2r adapter and Rerun file type-check"
cargo check --release --quiet -p selene --no-default-features --features r2r-doc-only,rerun
# The whole workspace: its features are those of the tests, so that nothing is compiled twice for them.
step "build"; cargo build --release --workspace --quiet
step "tests"; cargo test --release --workspace --quiet --no-fail-fast
step "Debian package"; tests/package.sh
step "Python package"; tests/python.sh
