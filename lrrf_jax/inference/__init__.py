"""From rows to sums over the trees of a forest: kernels that give the same integers.

`ready` makes a forest ready for the devices that apply it. `traversal` walks rows down trees and is
the reference; `bitsliced` asks each question of a forest once for many rows, for CPUs; `gathered`
walks all rows at once, for accelerators, and `fused` does so in one Pallas kernel.
"""
