"""What `bin/bench NAME` measures: the figures of docs/benchmarks.md.

No app of the service: it is not installed, typed or shipped. It imports every app and
`tests.support`; its judge of repairs (`bench.judge`) imports nothing of the product.
"""
