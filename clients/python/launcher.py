#!python
"""Runs the service that is in this package."""

import os
import sys
from importlib.util import find_spec

if __name__ == "__main__":
    # Found without being imported, which would take longer than all the rest.
    package = find_spec("towline")
    if package is None or package.origin is None:
        sys.exit("towline: the Python package towline is not installed for " + sys.executable)
    service = os.path.join(os.path.dirname(package.origin), "bin", "towline")
    try:
        os.execv(service, [service, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"towline: {service}: {error.strerror}")
