#!/usr/bin/env python3
"""Fails if a page of a built site links to a file or a heading that the site does not have. Skips 404.html, which
servers show at any address.

docs/site/check_links.py FOLDER
"""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """Link targets of a page, and the ids in it that links can name."""

    def __init__(self, file):
        super().__init__()
        self.named, self.ids = [], {""}
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.named += [values[key] for key in ("href", "src") if values.get(key)]
        self.ids.update(values[key] for key in ("id", "name") if values.get(key))


def broken(folder):
    pages = {file: Page(file) for file in sorted(folder.rglob("*.html")) if file.name != "404.html"}
    for file, page in pages.items():
        for target in page.named:
            url = urllib.parse.urlsplit(target)
            if url.scheme or url.netloc:
                continue
            to = (file.parent / urllib.parse.unquote(url.path)).resolve() if url.path else file
            has_place = to not in pages or urllib.parse.unquote(url.fragment) in pages[to].ids
            if not to.is_relative_to(folder) or not to.is_file() or not has_place:
                yield f"{file.relative_to(folder)}: {target}"


def main():
    faults = list(broken(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(faults) or "every link of the site leads somewhere")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
