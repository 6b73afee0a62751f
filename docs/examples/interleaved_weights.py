#!/usr/bin/env python3
"""Why weights for one RoPE layout fail with the other, and how to convert them.

RoPE rotates pairs of channels. One layout pairs neighbours (2k, 2k + 1), the other pairs the halves
of a head (k, k + D/2). The formulas are the same, so a model whose weights were saved for the other
layout runs without an error and computes nonsense for all but the first positions.
"""

import numpy as np

import locus

LENGTH, DIM = 64, 64


def main():
    random = np.random.default_rng(0)
    x = random.standard_normal((LENGTH, DIM), dtype="f4")
    wq, wk, wv = random.standard_normal((3, DIM, DIM), dtype="f4") / np.float32(np.sqrt(DIM))
    # Column 2k of the new weights is column k, and column 2k + 1 is column k + D/2.
    order = np.arange(DIM).reshape(2, DIM // 2).T.reshape(-1)

    with locus.connect() as client:
        def attention(q_weights, k_weights, scheme):
            return client.attend(x @ q_weights, x @ k_weights, x @ wv, scheme=scheme,
                                 causal=True).output

        right = attention(wq, wk, "rope:layout=half_split")
        wrong = attention(wq, wk, "rope:layout=interleaved")
        fixed = attention(wq[:, order], wk[:, order], "rope:layout=interleaved")

    print("position  weights as they are  weights converted")
    for position in (0, 1, 4, 16, 63):
        errors = [np.abs(output[position] - right[position]).max() for output in (wrong, fixed)]
        print(f"{position:8}  {errors[0]:19.6f}  {errors[1]:17.6f}")


if __name__ == "__main__":
    main()
