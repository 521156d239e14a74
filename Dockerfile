# Selene in a container. Rays are traced on the CPU; topics are published over DDS on the host's network.
#
#   docker build -t selene .
#   docker run --rm --network host -v "$PWD":/work --user "$(id -u):$(id -g)" selene run --for 20
FROM rust:1.95-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --release --locked --package selene

FROM debian:bookworm-slim
COPY --from=build /source/target/release/selene /usr/bin/selene
COPY config /usr/share/selene/config
COPY urdf /usr/share/selene/urdf
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/selene/
COPY console/page/three/LICENSE /usr/share/doc/selene/LICENSE-three.js
COPY vendor/rustdds/LICENSE.md /usr/share/doc/selene/LICENSE-rustdds.md
# File names are relative to this folder; images are written to its folder out/.
WORKDIR /work
ENTRYPOINT ["selene"]
