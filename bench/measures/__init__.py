"""The benchmarks: the modules that the names of `bin/bench` run."""
