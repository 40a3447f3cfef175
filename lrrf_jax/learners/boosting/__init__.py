"""What ``lr-boost`` is made of, besides trees.

``rounds``  trees one after another, each for what those before left over, as one program
``fit``     how many rounds rows held out ask for
"""
