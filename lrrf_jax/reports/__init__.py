"""Pages of results: what `lrrf_jax.evaluation` measures and `lrrf_jax.plotting` draws, joined."""

from lrrf_jax.reports.files import save_page
from lrrf_jax.reports.page import comparison_page, comparison_tables

__all__ = ["comparison_page", "comparison_tables", "save_page"]
