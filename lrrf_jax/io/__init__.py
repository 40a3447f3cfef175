"""Tables in and out of bulk prediction."""

from lrrf_jax.io.arrow import predict_arrow, ranking_schema

__all__ = ["predict_arrow", "ranking_schema"]
