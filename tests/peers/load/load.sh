#!/usr/bin/env bash
# Compares Selene and Cyclone DDS as senders to a subscriber with Cyclone DDS: the table of docs/performance.md, "Sending
# images, clouds and IMU readings". Not part of tests/run.sh: it measures. The processor's time of Selene is that of its
# whole process, that of Cyclone DDS is of sending alone.
#   tests/peers/load/load.sh [reliable|best]
# Needs Cyclone DDS with its idlc: cyclonedds-dev and cyclonedds-tools of Debian, or a sourced ROS 2.
set -euo pipefail
cd "$(dirname "$0")/../../.."
reliability=${1:-reliable}
build=target/peers/load
mkdir -p "$build"
idlc -o "$build" tests/peers/load/load.idl
# shellcheck disable=SC2046 # flags are words
cc -O2 -I "$build" -o "$build/load" tests/peers/load/load.c "$build/load.c" $(pkg-config --cflags --libs CycloneDDS)
cargo build --release --quiet -p selene-ros --example camera_load

beside() {
    "$build/load" receive 24 "$reliability" &
    local receiver=$!
    sleep 1.5
    "$@" || { kill "$receiver"; return 1; }
    wait "$receiver"
}
echo "Selene, $reliability:"
beside bash -c 'time "$@"' _ target/release/examples/camera_load 20 "$reliability"
echo "Cyclone DDS, $reliability:"
beside "$build/load" send 20 "$reliability"
