"""Going back: rollback and tags."""

from __future__ import annotations

from datetime import datetime

from versioned_catalog.conflicts.operations import Base, Rollback, Tag
from versioned_catalog.conflicts.rollback import check_same_incarnation
from versioned_catalog.conflicts.tags import check_tag
from versioned_catalog.errors import InvalidRequestError
from versioned_catalog.maintained import MaintainedTable


class RestoredTable(MaintainedTable):
    """The part of ``Table`` that names versions and brings them back."""

    def rollback(
        self,
        version: int | None = None,
        *,
        timestamp: datetime | str | None = None,
        tag: str | None = None,
        commit_id: str | None = None,
    ) -> int:
        """Make the table what it was: rows, columns with their IDs, properties and comment.

        It is a commit of its own, so that it can be rolled back itself. Column IDs are never given
        again; tags stay.

        Args:
            version: which version.
            timestamp: or the one of this time (without offset: UTC).
            tag: or the one of this name.
            commit_id: who the commit is, where that is decided already.

        Returns:
            The version of the commit; the current one if the table is what it was.

        Raises:
            NotFoundError: there is no such version, or tag.
            InvalidRequestError: not exactly one of the three is given, or the table was made anew since.
            CommitConflictError: somebody committed something that was not seen here.
        """
        if sum(given is not None for given in (version, timestamp, tag)) != 1:
            raise InvalidRequestError(
                f"{self.name}: give one of version, timestamp and tag to roll back to"
            )
        then = self.at(version if tag is None else check_tag(tag, self.name), timestamp)
        check_same_incarnation(then, self.state, then.version, self.name)
        return self._commit(Rollback(Base.of(self.state), then.version), commit_id)

    def set_tag(
        self, name: str, version: int | None = None, *, commit_id: str | None = None
    ) -> int:
        """Give a version a name, which time travel takes in its place; a tag may be set anew.

        Args:
            name: not empty, not digits alone, without control characters.
            version: which version; None for the one this table shows.
            commit_id: who the commit is, where that is decided already.

        Returns:
            The version of the commit; the newest one if the tag was set so already.

        Raises:
            InvalidRequestError: the name can't be.
            NotFoundError: there is no such version.
        """
        operation = Tag(Base.of(self.state), check_tag(name, self.name), self.at(version).version)
        return self._commit(operation, commit_id)

    def drop_tag(self, name: str, *, commit_id: str | None = None) -> int:
        """Take a name away from its version.

        Args:
            name: the tag.
            commit_id: who the commit is, where that is decided already.

        Returns:
            The version of the commit.

        Raises:
            NotFoundError: there is no such tag.
        """
        operation = Tag(Base.of(self.state), check_tag(name, self.name), None)
        return self._commit(operation, commit_id)
