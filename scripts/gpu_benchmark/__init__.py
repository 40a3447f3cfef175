"""What `scripts/benchmark_gpu.py` measures, one thing a file."""
