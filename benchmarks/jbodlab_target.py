"""jbodlab as a target of the cluster benchmark: an ephemeral cluster of real processes."""

from __future__ import annotations
