"""Lineage: events of OpenLineage for the commits of this process, sent by its own client."""

from versioned_interop.lineage.emitting import Lineage, enable

__all__ = ["Lineage", "enable"]
