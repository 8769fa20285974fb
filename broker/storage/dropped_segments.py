"""Which segments of a log cannot stay behind the others, and how they go.

It reads no batches.
"""

from __future__ import annotations

from broker.storage.segment import RELATIVE_OFFSET_MAX, Segment


def why_misplaced(base_offset: int, end: int, whole_from: int | None) -> str | None:
    """Say why a segment cannot follow batches that end at ``end``; None when it can.

    A power cut may keep a segment and lose the unsynced end of the one before it, or the truncation
    that made it begin there. What lies behind is cut off, so that a replica fetches it again; Kafka
    keeps it and never notices.

    Args:
        base_offset: where the segment begins.
        end: the offset after the last batch before it.
        whole_from: from here on segments follow each other without a gap; None: not known.
    """
    if base_offset < end:
        return f"segment {base_offset} begins before {end}, where the one before it ends"
    if whole_from is None or base_offset - end > RELATIVE_OFFSET_MAX:
        return None
    return f"nothing from {end} to {base_offset}" if base_offset > max(end, whole_from) else None


def drop_from(segments: list[Segment], number: int) -> None:
    """Remove the segments of a log from ``number`` on, before what is left is cut.

    Durably: a power cut must not bring them back behind the cut, where they would leave a hole.
    """
    if number == len(segments):
        return
    directory = segments[number].directory
    while len(segments) > number:
        segments.pop().delete()
    directory.files.disk.sync_dir(directory.name)
