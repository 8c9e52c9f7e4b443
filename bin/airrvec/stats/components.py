"""Signs of principal components."""

import numpy as np


def signs(axes: np.ndarray) -> np.ndarray:
    """
    Return the signs that make the largest entry of each axis positive, so that all machines agree.

    Parameters
    ----------
    axes : ndarray, shape (k, d)
        Axes of a singular value decomposition, each determined up to its sign.

    Returns
    -------
    ndarray, shape (k,)
    """
    return np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
