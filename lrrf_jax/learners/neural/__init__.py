"""What the perceptrons of ``mlp`` are made of.

``predict``  the model, and utilities of rows by it
``fit``      training of all networks in one program
"""
