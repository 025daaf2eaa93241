"""The service and the stores that it is compared with, behind one interface.

This package may import `benchmarks.fixtures`, the packages below it, and the apps. Only a
measure may import this package. Modules import the packages of requirements-peers.txt inside
the functions that need them.
"""
