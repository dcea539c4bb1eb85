from fixtures import (
    binary,
    clock,
    clock_shim,
    host,
    launch,
    nginx,
    other_server,
    server,
    slow_commits,
    work,
)

__all__ = [
    "binary",
    "clock",
    "clock_shim",
    "host",
    "launch",
    "nginx",
    "other_server",
    "server",
    "slow_commits",
    "work",
]
