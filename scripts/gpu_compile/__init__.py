"""What `scripts/compile_for_gpu.py` is made of."""
