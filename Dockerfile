# A model behind HTTP: POST /rank, GET /model, /health, /ready (docs/how-to/serve.md).
#
#     docker build -t lrrf-serve .
#     docker run --rm -p 127.0.0.1:8000:8000 -v "$PWD/iris.lrrf:/models/model.lrrf:ro" lrrf-serve
#
# A model inside the image, with its programs compiled for processors such as that which builds it:
#
#     FROM lrrf-serve
#     COPY iris.lrrf /models/model.lrrf
#     RUN ["python", "-c", "import lrrf_jax; lrrf_jax.load('/models/model.lrrf').compile(scores=True)"]
ARG PYTHON=3.12.8-slim-bookworm

FROM python:${PYTHON} AS build
WORKDIR /src
RUN ["python", "-m", "venv", "/opt/lrrf"]
COPY pyproject.toml README.md LICENSE ./
COPY lrrf_jax lrrf_jax
RUN ["/opt/lrrf/bin/pip", "install", "--no-cache-dir", ".[serve]"]

FROM python:${PYTHON}
COPY --from=build /opt/lrrf /opt/lrrf
# Programs that are compiled at the first start are kept here: a volume saves them for the next.
RUN ["install", "--directory", "--owner=10001", "--group=10001", "--mode=700", "/cache"]
ENV PATH=/opt/lrrf/bin:$PATH HOME=/tmp LRRF_JAX_CACHE=/cache PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /models
EXPOSE 8000
# The first start compiles for half a minute on a slow machine.
HEALTHCHECK --interval=10s --timeout=3s --start-period=120s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health')"]
ENTRYPOINT ["lrrf", "serve"]
CMD ["/models/model.lrrf", "--host", "0.0.0.0", "--port", "8000"]
