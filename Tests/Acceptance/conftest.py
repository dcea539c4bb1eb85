from fixtures import binary, host, launch, nginx, other_server, server, work

__all__ = ["binary", "host", "launch", "nginx", "other_server", "server", "work"]
