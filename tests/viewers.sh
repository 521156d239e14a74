#!/usr/bin/env bash
# What the viewers' own software makes of a run: Foxglove's client and message reader of its stream, Rerun's readers of the file of
# --rerun and of the bag. Not a part of tests/run.sh, because it builds the program a second time, with Rerun's SDK and its 190 crates,
# and takes Foxglove's packages from npm. Needs node, npm and Python.
#
#   tests/viewers.sh
set -euo pipefail
cd "$(dirname "$0")/.."

work=target/viewers
out=$work/out
npm_packages=(@foxglove/ws-protocol@0.8.0 @foxglove/rosmsg@5.0.5 @foxglove/rosmsg2-serialization@3.1.0 ws@8.23.0)
python_packages=(rerun-sdk==0.36.3 mcap==1.6.0 mcap-ros2-support==0.6.0 numpy==2.4.6)
step() { printf '\n=== %s\n' "$*"; }

step "viewers' software"
mkdir -p $work/npm
(cd $work/npm && { [ -f package.json ] || npm init --yes > /dev/null; } && npm install --silent "${npm_packages[@]}")
[ -x $work/python/bin/python ] || python3 -m venv $work/python
$work/python/bin/python -m pip install --quiet "${python_packages[@]}"

step "build and tests with the feature"
export CARGO_TARGET_DIR=$work
cargo build --release --quiet -p selene --features rerun
cargo test --release --quiet -p selene --features rerun --lib rerun_file

# Cameras with boxes, a lidar, and rocks in view.
run() {
  $work/release/selene run tests/viewers/scenario.yaml --for 6 --device cpu --no-dds --no-pictures "$@"
}

step "Rerun: the file of a run, and its bag"
rm -rf $out
run --record $out/bag --rerun $out/run.rrd
$work/python/bin/rerun rrd verify $out/run.rrd
$work/python/bin/python tests/viewers/rerun_file.py $out/run.rrd $out/bag/bag_0.mcap

step "Foxglove: a client of a run"
run --foxglove=127.0.0.1:0 > $out/foxglove.log 2>&1 &
served=$!
trap 'kill $served 2> /dev/null || true' EXIT
until address=$(sed -n 's|^foxglove: ws://||p' $out/foxglove.log) && [ -n "$address" ]; do
  kill -0 $served || { cat $out/foxglove.log; exit 1; }
  sleep 0.05
done
node tests/viewers/foxglove.mjs $work/npm "$address" /tf /tf_static /clock /lidar/points /navcam_left/image_raw \
  /navcam_left/depth/image_rect_raw /navcam_left/segmentation/image /navcam_left/detections /ground_truth/wheels
wait $served
