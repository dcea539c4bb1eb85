from fixtures import binary, clock, clock_shim, host, launch, nginx, other_server, server, work

__all__ = ["binary", "clock", "clock_shim", "host", "launch", "nginx", "other_server", "server", "work"]
