from fixtures import binary, server
from shell_support import fakes, shell

__all__ = ["binary", "fakes", "server", "shell"]
