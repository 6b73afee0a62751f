#!/usr/bin/env python3
"""Which RoPE scaling extends a model to a longer context?

usage: rope_scaling.py [CONFIG_JSON [TARGET_LENGTH]]

Without arguments, the model is one with RoPE of base 10000, trained for 4096 positions, and the
target is 32768. A pair of channels that completes less than one turn during training meets angles
that it was never trained for when the sequence gets longer. A scaling avoids them by slowing down
the rotation; slowing down fast pairs costs resolution between neighbouring tokens. With a
config.json, the last line is the scaling that the file has.
"""

import sys

import numpy as np

import locus


def compare(client, base, dim, trained, target, config=None):
    factor = target / trained
    group = {"factor": factor}
    scalings = {"none": {}, "linear": {"linear": group}, "ntk": {"ntk": group},
                "yarn": {"yarn": {**group, "original_length": trained}}}
    schemes = {name: {"rope": {"base": base, **scaling}} for name, scaling in scalings.items()}
    if config is not None:
        schemes["config"] = config
    print(f"base {base:g}, head width {dim}, {trained} -> {target} positions (x{factor:g})")
    print("scaling  pairs with untrained angles  slowest fast pair")
    for name, scheme in schemes.items():
        encoding = client.encode(scheme, 1, dim, trained_length=trained, target_length=target)
        is_incomplete = encoding.original_turns < 1
        untrained = is_incomplete & (encoding.target_turns > encoding.original_turns * 1.001)
        # Speed of the pairs that tell neighbours apart: those with 32 turns or more in training.
        is_fast = encoding.original_turns >= 32
        speed = (encoding.frequencies / encoding.unscaled_frequencies)[is_fast].min()
        print(f"{name:8} {np.sum(untrained):14} of {len(untrained):2} {speed:22.0%}")


def main():
    base, dim, trained, target, config = 10000.0, 128, 4096, 32768, None
    if len(sys.argv) > 1:
        config = locus.read_config(sys.argv[1])
        base = config.scheme.rope.base or base
        dim, trained = config.head_dim or dim, config.trained_length or trained
        target = config.target_length or target
    if len(sys.argv) > 2:
        target = int(sys.argv[2])
    with locus.connect() as client:
        compare(client, base, dim, trained, target, config)


if __name__ == "__main__":
    main()
