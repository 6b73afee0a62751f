"""The training step of training_bench in PyTorch, for comparison.

    python3 tests/bench/training_step_torch.py [THREADS [STEPS]]

Requires the Debian packages python3-torch and libopenblas0-pthread. Without the
latter, torch uses the reference BLAS, which is ten times slower.
"""
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

DIM, LAYERS, HEADS, FEED_FORWARD, LENGTH, BATCH, VOCABULARY = 64, 2, 4, 256, 64, 32, 64


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.wqkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.wo = nn.Linear(DIM, DIM, bias=False)
        self.w1 = nn.Linear(DIM, FEED_FORWARD, bias=False)
        self.w2 = nn.Linear(FEED_FORWARD, DIM, bias=False)

    def forward(self, x, mask):
        qkv = self.wqkv(self.norm1(x)).view(BATCH, LENGTH, 3, HEADS, DIM // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        weights = ((q @ k.transpose(-1, -2)) * (DIM // HEADS) ** -0.5 + mask).softmax(-1)
        x = x + self.wo((weights @ v).transpose(1, 2).reshape(BATCH, LENGTH, DIM))
        return x + self.w2(functional.gelu(self.w1(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(DIM)
        self.wout = nn.Linear(DIM, VOCABULARY, bias=False)

    def forward(self, tokens, mask):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, mask)
        return self.wout(self.norm(x))


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 25
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    mask = torch.full((LENGTH, LENGTH), float("-inf")).triu(1)
    tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    targets = torch.randint(0, VOCABULARY, (BATCH * LENGTH,))
    times = []
    for _ in range(steps + 3):  # the first 3 steps warm up
        start = time.perf_counter()
        loss = functional.cross_entropy(model(tokens, mask).view(-1, VOCABULARY), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        times.append((time.perf_counter() - start) * 1e3)
    print(f"torch {torch.__version__}, {threads} threads: median {statistics.median(times[3:]):.1f} ms,"
          f" best {min(times[3:]):.1f} ms")


if __name__ == "__main__":
    main()
