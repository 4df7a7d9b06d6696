"""Layers of all parameters beside onnxruntime: one process, one thread each, in turns, the least times.

    python -m tools.layer_sweep                       # every family's parameters, one at a time; a quarter of an hour
    python -m tools.layer_sweep --quick               # a layer of each family; a minute
    python -m tools.layer_sweep Conv --drawn 200 --seed 7   # layers whose names begin so, and as many drawn at random

Prints a table, the slowest layers first; the ratio is onnxc's time over onnxruntime's, less what a call costs. Exit
code 1 if a layer takes more than --limit times onnxruntime's time, or gives other values.
"""

import argparse
import itertools
import sys

from tools.layer_sweep.families import drawn_layers, fixed_layers, quick_layers
from tools.layer_sweep.sweep import LIMIT, sweep, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="how the layers' names begin")
    parser.add_argument("--quick", action="store_true", help="one layer of each family")
    parser.add_argument("--drawn", type=int, metavar="N", default=0, help="so many layers drawn at random as well")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (default %(default)s)")
    parser.add_argument("--part", metavar="I/N", default="0/1", help="only layers I, I + N, I + 2 N and so on")
    parser.add_argument("--limit", type=float, default=LIMIT, help="of a ratio (default %(default)s)")
    arguments = parser.parse_args()
    layers = quick_layers() if arguments.quick else fixed_layers()
    layers = itertools.chain(layers, drawn_layers(arguments.drawn, arguments.seed))
    if arguments.names:
        layers = (layer for layer in layers if any(layer.name.startswith(name) for name in arguments.names))
    first, step = map(int, arguments.part.split("/"))
    layers = itertools.islice(layers, first, None, step)
    rows = []
    for row in sweep(layers, arguments.limit):
        rows.append(row)
        if row.fails(arguments.limit):
            print(row, file=sys.stderr, flush=True)
    print(table(rows))
    sys.exit(1 if any(row.fails(arguments.limit) for row in rows) else 0)


if __name__ == "__main__":
    main()
