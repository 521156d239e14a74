#!/usr/bin/env bash
# Builds the documentation as a site in target/site with mdBook. Pages show files of the whole repository, but mdBook
# copies only files below its source folder, so the source is a copy of the pages and of every file that they name, at
# the same relative paths.
#
#   docs/site/build.sh          then open target/site/index.html
set -euo pipefail
cd "$(dirname "$0")/../.."

source=target/book
root_pages=(README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md)

named() {
  grep -oh '](\.\./[^)#]*' docs/*.md | sed 's|](\.\./||'
  grep -oh '([^)#: ]*' "${root_pages[@]}" | sed 's|(||'
}

rm -rf $source target/site
mkdir -p $source
cp -r docs "${root_pages[@]}" $source
named | sort -u | while read -r file; do if [ -f "$file" ]; then cp --parents "$file" $source; fi; done
sed -E 's#\]\(#](docs/#; s#\]\(docs/\.\./#](#' docs/SUMMARY.md > $source/SUMMARY.md
rm -r $source/docs/SUMMARY.md $source/docs/site
MDBOOK_BOOK__SRC=$source mdbook build
python3 docs/site/check_links.py target/site
