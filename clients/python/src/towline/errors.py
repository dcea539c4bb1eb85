"""Exceptions: what the service answers (one class per kind), and what the client itself raises.

The failure of a download is not an exception but data (`towline.DownloadError` in `Download.error`), until
`Download.raise_unless_completed` turns it into `DownloadFailed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Optional


class TowlineError(Exception):
    """The base of all exceptions of this package."""


class BinaryNotFound(TowlineError, FileNotFoundError):
    """There is no service to run: neither named, nor in `TOWLINE`, nor bundled, nor in `PATH`."""


class ClientClosed(TowlineError):
    """The client was closed before the answer arrived, is used after its end, or is another process's."""


class ProtocolError(TowlineError):
    """The service sent something that this client cannot read."""


class ServiceDied(TowlineError, ConnectionError):
    """The service ended unexpectedly while a request waited that must not be repeated blindly.

    The request may have been carried out or not: read the state with `list`, or repeat the same `start`.
    """

    def __init__(self, message: str, *, status: Optional[int] = None, stderr: str = "") -> None:
        super().__init__(f"{message}: {stderr.splitlines()[-1]}" if stderr.strip() else message)
        #: The exit status; negative after death by that signal; None when it is not known.
        self.status = status
        #: The last lines that the service wrote to its standard error.
        self.stderr = stderr


class AnswerTimedOut(TowlineError, TimeoutError):
    """No answer within the client's `answer_timeout`: the service is stopped or overloaded."""


class WaitTimedOut(TowlineError, TimeoutError):
    """`wait` or `fetch` ended by its timeout. `download` is the state then (None for several)."""

    def __init__(self, message: str, download: Optional[Download] = None) -> None:
        super().__init__(message)
        self.download = download


class DownloadFailed(TowlineError):
    """A download is in another state than `completed`; `download.error` has the cause if it failed."""

    def __init__(self, download: Download) -> None:
        error = download.error
        why = f"{error.kind}: {error.message}" if error is not None else download.reason
        state = "failed" if download.state == "failed" else f"is {download.state}"
        super().__init__(f"{download.label} {state}" + (f" ({why})" if why else ""))
        self.download = download

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.download,)


class RPCError(TowlineError):
    """The service answered a request with an error. Its subclasses are one per kind.

    `kind` is the stable key, `retryable` says whether the same request may succeed later, `data` is the
    whole object that was sent with the error.
    """

    #: What the service sends for this class; None for RPCError itself.
    CODE: ClassVar[Optional[int]] = None
    KIND: ClassVar[Optional[str]] = None

    def __init__(self, code: int, message: str, data: Optional[Mapping[str, Any]] = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data: Mapping[str, Any] = data or {}
        self.kind: Optional[str] = self.data.get("kind", self.KIND)
        self.retryable: bool = self.data.get("retryable") is True

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message, self.data)

    def __str__(self) -> str:
        return f"{self.message} ({self.kind or self.code})"

    @staticmethod
    def from_wire(error: Mapping[str, Any]) -> RPCError:
        """The exception for the `error` member of a response: by kind, else by code, else RPCError."""
        code, data = error.get("code", 0), error.get("data")
        data = data if isinstance(data, dict) else {}
        made_of = BY_KIND.get(data.get("kind", "")) or BY_CODE.get(code, RPCError)
        return made_of(code, str(error.get("message", "")), data)


class ParseError(RPCError):
    CODE, KIND = -32700, "parseError"


class InvalidRequest(RPCError):
    CODE, KIND = -32600, "invalidRequest"


class MessageTooLarge(RPCError):
    CODE, KIND = -32600, "messageTooLarge"


class MethodNotFound(RPCError):
    CODE, KIND = -32601, "methodNotFound"


class InvalidParams(RPCError):
    CODE, KIND = -32602, "invalidParams"


class InternalError(RPCError):
    CODE, KIND = -32603, "internalError"


class RequestCancelled(RPCError):
    CODE, KIND = -32800, "requestCancelled"


class DownloadNotFound(RPCError):
    CODE, KIND = 1001, "downloadNotFound"


class InvalidState(RPCError):
    CODE, KIND = 1002, "invalidState"


class DestinationConflict(RPCError):
    CODE, KIND = 1003, "destinationConflict"


class IdConflict(RPCError):
    CODE, KIND = 1004, "idConflict"


class UnsupportedUrl(RPCError):
    CODE, KIND = 1005, "unsupportedUrl"


class LimitExceeded(RPCError):
    CODE, KIND = 1006, "limitExceeded"


class PermissionDenied(RPCError):
    CODE, KIND = 1008, "permissionDenied"


class StorageFailure(RPCError):
    CODE, KIND = 1009, "storageFailure"


class LockedElsewhere(RPCError):
    CODE, KIND = 1010, "lockedElsewhere"


class CursorExpired(RPCError):
    CODE, KIND = 1011, "cursorExpired"


class ShuttingDown(RPCError):
    CODE, KIND = 1012, "shuttingDown"


class ResumeDataUnusable(RPCError):
    CODE, KIND = 1013, "resumeDataUnusable"


KINDS: tuple[type[RPCError], ...] = (
    ParseError,
    InvalidRequest,
    MessageTooLarge,
    MethodNotFound,
    InvalidParams,
    InternalError,
    RequestCancelled,
    DownloadNotFound,
    InvalidState,
    DestinationConflict,
    IdConflict,
    UnsupportedUrl,
    LimitExceeded,
    PermissionDenied,
    StorageFailure,
    LockedElsewhere,
    CursorExpired,
    ShuttingDown,
    ResumeDataUnusable,
)
BY_KIND: Mapping[str, type[RPCError]] = {made.KIND: made for made in KINDS if made.KIND is not None}
#: For an error without a kind: the first class of its code.
BY_CODE: Mapping[int, type[RPCError]] = {made.CODE: made for made in reversed(KINDS) if made.CODE is not None}

# At the end: models need the above. So annotations here resolve for `typing.get_type_hints`.
from .models import Download  # noqa: E402
