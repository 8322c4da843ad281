"""boxes.py STEM: three boxes, of which two overlap, with their scores in two classes."""

import sys

import numpy as np

np.save(sys.argv[1] + ".boxes.npy",
        np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]]], np.float32))
np.save(sys.argv[1] + ".scores.npy",
        np.array([[[0.9, 0.8, 0.7], [0.2, 0.3, 0.1]]], np.float32))
