"""Names of `typing` that Python before 3.11 does not have; annotations that use them resolve there too."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack
elif sys.version_info >= (3, 11):
    from typing import Self, Unpack
else:
    Self = Any

    class Unpack:
        """`Unpack[Options]` reads as Any."""

        def __class_getitem__(cls, item: Any) -> Any:
            return Any


__all__ = ["Self", "Unpack"]
