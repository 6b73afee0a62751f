"""Random streams as defined in core/base/random.h."""

import math

import numpy as np

_WORD = (1 << 64) - 1


def _mix(z):
    z = ((z ^ z >> 30) * 0xbf58476d1ce4e5b9) & _WORD
    z = ((z ^ z >> 27) * 0x94d049bb133111eb) & _WORD
    return z ^ z >> 31


def _fnv1a64(text):
    value = 0xcbf29ce484222325
    for byte in text.encode("utf-8"):
        value = ((value ^ byte) * 0x100000001b3) & _WORD
    return value


class Stream:
    def __init__(self, seed, purpose):
        self._state = _mix(seed ^ _fnv1a64(purpose))
        self._spare = None

    def next(self):
        self._state = (self._state + 0x9e3779b97f4a7c15) & _WORD
        return _mix(self._state)

    def uniform(self):
        return (self.next() >> 11) * 2.0 ** -53

    def normal(self):
        if self._spare is not None:
            value, self._spare = self._spare, None
            return value
        while True:
            u = 2 * self.uniform() - 1
            v = 2 * self.uniform() - 1
            s = u * u + v * v
            if 0 < s < 1:
                break
        factor = math.sqrt(-2 * math.log(s) / s)
        self._spare = v * factor
        return u * factor

    def normals(self, shape, deviation=1.0):
        count = int(np.prod(shape))
        drawn = [deviation * self.normal() for _ in range(count)]
        return np.array(drawn, dtype=np.longdouble).reshape(shape)

    def below(self, bound):
        """A random int in [0, bound)."""
        return int(self.uniform() * bound)

    def choice(self, options):
        return options[self.below(len(options))]
