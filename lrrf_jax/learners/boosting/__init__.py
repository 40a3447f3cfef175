"""What ``lr-boost`` is made of, besides trees.

``fit``  boosting, and how many rounds rows held out ask for
"""
