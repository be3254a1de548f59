"""Every error this project raises on purpose, split by what the caller can do about it."""


class VersionedError(Exception):
    """The root: catch this to catch everything that is told on purpose."""


class InvalidRequestError(VersionedError, ValueError):
    """The request can't be carried out as it stands: change it and ask again."""


class NotFoundError(VersionedError, LookupError):
    """The table, namespace, version or column that was named is not there."""


class AlreadyExistsError(VersionedError):
    """The name is taken: choose another one or drop what has it."""


class CommitConflictError(VersionedError):
    """Somebody committed something this commit can't stand beside: nothing was written; plan it
    again on the new state."""


class CommitOutcomeUnknown(VersionedError):
    """The store did not answer: the commit may be there, and may still land.

    Args:
        message: what happened.
        commit_id: ask ``Table.find_commit(commit_id)`` later.
    """

    def __init__(self, message: str, commit_id: str = "") -> None:
        super().__init__(message)
        self.commit_id = commit_id

    def __reduce__(self) -> tuple[type["CommitOutcomeUnknown"], tuple[str, str]]:
        return type(self), (str(self), self.commit_id)


class CorruptTableError(VersionedError):
    """What is stored is damaged or was changed by somebody else: restore or repair it."""


class UnsupportedFeatureError(VersionedError):
    """The table needs something that this version of the library does not know: upgrade."""


class StorageError(VersionedError):
    """The store failed or refused: check access, space and configuration, and try again."""
