"""Models as other libraries hold them, and theirs as ours.

``compact_tree`` is the form that trees have on the way; each ``to_*`` and ``from_*`` is a library.
"""
