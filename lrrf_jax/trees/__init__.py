"""Histogram trees and forests as flat arrays; nothing here knows of rankings.

    binning -> draws -> [nodes -> histogram -> splitter -> search] -> forest
    X to bins  chance    one level: open, sum, score, choose          arrays

`grower` runs the levels, `growth` holds the values that flow, `criterion` says what is optimised,
`blocks` spreads trees over threads and devices. A node that may be split has a *slot*, a slot and
a candidate feature are a *lane*, an *edge* is the index of a threshold; ``docs/design.md`` has the
reading order and the whole glossary.
"""
