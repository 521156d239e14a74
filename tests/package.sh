#!/usr/bin/env bash
# Makes the Debian package target/debian/selene_*.deb of target/release/selene as it is there, unpacks it into a
# temporary folder, and uses it as its users do: in an empty folder, with an empty home, once with the files of the
# package and once with the program alone. Needs dpkg-dev. Of the sources nothing is found by the program then, where
# `unshare` may hide them (as root, or where users may make namespaces).
#
#   tests/package.sh
set -euo pipefail
cd "$(dirname "$0")/.."

cargo_deb=3.8.0
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
checkout=$PWD

fail() { echo "tests/package.sh: $*" >&2; exit 1; }

export PATH="$target/tools/bin:$PATH"
command -v cargo-deb > /dev/null || cargo install --quiet --locked --root "$target/tools" "cargo-deb@$cargo_deb"
[ -x "$target/release/selene" ] || cargo build --release --quiet

# What the program writes about itself.
made=$target/release/package
rm -rf "$made" "$target/debian"
mkdir -p "$made"
"$target/release/selene" man --out "$made/man" --quiet
gzip -9n "$made"/man/*.1
for shell in bash zsh fish; do "$target/release/selene" completions $shell > "$made/completions.$shell"; done
# Packed fast: a fifth larger than packed well, but in seconds.
cargo deb --no-build --fast -p selene -o "$target/debian/"

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
unpacked=$temporary/unpacked
dpkg-deb -x "$target"/debian/selene_*.deb "$unpacked"
share=$unpacked/usr/share
for file in bash-completion/completions/selene zsh/vendor-completions/_selene fish/vendor_completions.d/selene.fish \
  doc/selene/copyright doc/selene/changelog.gz selene/urdf/viper/viper.urdf selene/launch/viper.launch.py; do
  [ -s "$share/$file" ] || fail "the package lacks usr/share/$file"
done
for command in selene selene-run selene-new-scenario; do
  zcat "$share/man/man1/$command.1.gz" | grep -q '^\.TH' || fail "$command has no manual page"
done
diff -r config "$share/selene/config"

# Runs the rest of the arguments in a namespace of mounts in which the sources are not there.
hide='mount -t tmpfs none "$0" && exec "$@"'
hidden=()
for unshare in "unshare -m" "unshare -rm"; do
  # shellcheck disable=SC2086
  if $unshare bash -c "$hide" "$checkout" true 2> /dev/null; then hidden=($unshare bash -c "$hide" "$checkout"); break; fi
done
((${#hidden[@]})) || echo "the sources cannot be hidden here: what is compiled into the program may not be read"

# Makes, checks and runs a scenario with the program `$1` in a new folder; its site is found in folder `$2`.
try() {
  local program=$1 config=$2 here home=$temporary/home
  here=$(mktemp -d "$temporary/work.XXXX")
  rm -rf "$home"
  mkdir -p "$home/tmp"
  selene() {
    (cd "$here" && ${hidden[@]+"${hidden[@]}"} env -i HOME="$home" TMPDIR="$home/tmp" PATH=/usr/bin:/bin "$program" "$@")
  }
  selene new scenario mine > /dev/null
  selene check mine.yaml --explain > "$temporary/explained"
  [ -z "$config" ] || grep -qxF "  site: $config/site/polar.yaml" "$temporary/explained" || fail "no site of $config"
  selene run mine.yaml --for 0.5 --no-dds --device cpu --quiet > "$temporary/run" || fail "$(cat "$temporary/run")"
  local expected="mine.yaml out/contact_sheet.png out/first_image.png out/path.png out/wheels.png"
  local written; written=$(cd "$here" && find . -type f -printf '%P\n' | LC_ALL=C sort | xargs)
  [ "$written" = "$expected" ] || fail "$program wrote: $written"
  written=$(find "$home" -mindepth 1 ! -path "$home/tmp")
  [ -z "$written" ] || fail "$program wrote into its home: $written"
}

try "$unpacked/usr/bin/selene" "$share/selene/config"
mkdir "$temporary/alone"
mv "$unpacked/usr/bin/selene" "$temporary/alone/"
rm -rf "$unpacked"
try "$temporary/alone/selene" "${hidden[0]:+/selene:/config}"
echo "the package $(basename "$target"/debian/selene_*.deb) and the program alone run"
