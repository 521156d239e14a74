#!/usr/bin/env python3
"""Writes docs/catalogue.md: everything that `selene list` names, each with the first sentence of its file and, where
docs/site/thumbnails.py made one, its picture.

    docs/site/catalogue.py     from the root of the repository
"""

import pathlib

KINDS = [("scenario", "Scenarios"), ("rover", "Rovers"), ("site", "Sites"), ("soil", "Soils"), ("sensor", "Sensors")]
PICTURES = pathlib.Path("docs/images/catalogue")
HEAD = """# What there is

Everything that `selene list` names. A name stands for its file wherever one is asked for: `selene run convoy`, `--rover ex1`, `--soil
grc1`, `site: mare`. `docs/site/catalogue.py` writes this page from the files' own first sentences.
"""
PICTURED = """Pictures are by a camera that flies along behind a rover on its left; `docs/site/thumbnails.py` makes them.
"""


def first_sentence(file):
    """The first sentence of the comment at the start of a file, as in `selene list`."""
    comment = []
    for line in file.read_text().splitlines():
        if not line.startswith("#"):
            break
        text = line[1:].strip()
        if not text.startswith("yaml-language-server:"):
            comment.append(text)
    return " ".join(comment).split(". ")[0].rstrip(".")


def picture(kind, name):
    """The Markdown link of a picture; empty if there is none."""
    file = PICTURES / f"{kind}_{name}.jpg"
    return f"![{name}](images/catalogue/{file.name})" if file.exists() else ""


def rows(kind):
    folder = pathlib.Path("config") / kind
    files = {file.relative_to(folder).with_suffix("").as_posix(): file for file in folder.rglob("*.yaml")}
    for name, file in sorted(files.items()):
        yield [f"`{name}`", first_sentence(file), picture(kind, name)]


def main():
    page = [HEAD] + [PICTURED] * any(PICTURES.glob("*.jpg"))
    for kind, title in KINDS:
        table = list(rows(kind))
        columns = 3 if any(row[2] for row in table) else 2
        page += [f"## {title}\n", "| name | what |" + " |" * (columns - 2), "| --- " * columns + "|"]
        page += [f"| {' | '.join(row[:columns])} |" for row in table] + [""]
    pathlib.Path("docs/catalogue.md").write_text("\n".join(page).rstrip() + "\n")


if __name__ == "__main__":
    main()
