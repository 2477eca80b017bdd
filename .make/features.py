"""Print the processor features that NumPy uses beyond its baseline, for NPY_DISABLE_CPU_FEATURES."""

try:
    from numpy._core import _multiarray_umath as numpy
except ImportError:  # before NumPy 2
    from numpy.core import _multiarray_umath as numpy

print(*(name for name in numpy.__cpu_dispatch__ if numpy.__cpu_features__[name]))  # noqa: T201
