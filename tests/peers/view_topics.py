"""Prints the topics that a view shows: an RViz configuration (YAML) or a Foxglove layout (JSON).

    view_topics.py FILE

A topic is any value or key that begins with a slash; Foxglove's paths into a message end at the first dot.
"""

import json
import sys

import ruamel.yaml


def topics(node):
    if isinstance(node, dict):
        return set().union(*(topics(part) for pair in node.items() for part in pair))
    if isinstance(node, list):
        return set().union(*(topics(part) for part in node))
    return {node.split(".")[0]} if isinstance(node, str) and node.startswith("/") else set()


def main(file):
    with open(file, encoding="utf-8") as text:
        view = json.load(text) if file.endswith(".json") else ruamel.yaml.YAML(typ="safe").load(text)
    print("\n".join(sorted(topics(view))))


main(sys.argv[1])
