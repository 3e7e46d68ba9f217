"""Grey images in the PGM format: the simplest that image programs write."""

import re

import numpy as np

_HEADER = re.compile(rb"P5\s+(\d+)\s+(\d+)\s+(\d+)\s", re.ASCII)


def read(content):
    """The image, 0 to 1. ValueError: it is none"""
    header = _HEADER.match(content)
    if header is None:
        raise ValueError("this is no PGM file: it does not begin with P5, width, height and largest grey")
    width, height, largest = map(int, header.groups())
    pixels = content[header.end():]
    if not 0 < largest < 256 or width * height == 0 or len(pixels) != width * height:
        raise ValueError(f"a PGM file of {width} x {height} pixels up to {largest} does not have {len(pixels)} bytes of them")
    return np.frombuffer(pixels, np.uint8).reshape(height, width) / largest


def shrink(image, size):
    """Means of size x size parts."""
    if image.shape[0] % size or image.shape[1] % size:
        raise ValueError(f"an image of {image.shape[1]} x {image.shape[0]} pixels does not consist of {size} x {size} equal parts")
    return image.reshape(size, image.shape[0] // size, size, image.shape[1] // size).mean(axis=(1, 3))
