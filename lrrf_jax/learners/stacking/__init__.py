"""What the stack is made of.

``members``        learners by name or as they are, and the members of the default
``out_of_sample``  pair scores of training rows by models that did not learn from them
``weights``        what each member counts
``combine``        pair scores of the members to rankings
``stored``         members in model files
"""
