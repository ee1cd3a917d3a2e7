# docker build -t hardalign . && docker run --rm -p 8000:8000 hardalign
FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements/ requirements/
RUN pip install --no-cache-dir --no-deps --constraint requirements/constraints.txt \
    hatchling packaging pathspec pluggy trove-classifiers
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src/ src/
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels .

FROM python:3.13-slim
COPY requirements/constraints.txt /tmp/
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --constraint /tmp/constraints.txt \
    "hardalign[serve] @ file://$(ls /wheels/*.whl)" \
    && useradd --create-home hardalign
USER hardalign
EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health')"]
ENTRYPOINT ["hardalign", "serve", "--host", "0.0.0.0", "--port", "8000"]
CMD ["en-g2p"]
