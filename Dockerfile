# Heed with bm25, lsa and polarity; --build-arg MODELS=1 adds torch and transformers for a CPU, --build-arg GPU=1 for a GPU.
# Every package is of locks/, by its digest.
FROM python:3.11-slim

ARG MODELS=0
ARG GPU=0
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /heed
COPY locks locks
RUN pip install --no-deps --no-build-isolation --require-hashes --requirement locks/build.txt \
    && pip install --no-deps --no-build-isolation --require-hashes --requirement locks/run.txt
# the package index has no CPU build of torch for Linux: where another index has it, --build-arg PIP_EXTRA_INDEX_URL=URL
ARG PIP_EXTRA_INDEX_URL
RUN if [ "$MODELS$GPU" != 00 ]; then \
        if [ "$GPU" = 0 ]; then pip install --no-deps --require-hashes --requirement locks/cpu.txt || true; fi \
        && pip install --no-deps --no-build-isolation --require-hashes --requirement locks/models.txt \
        && if grep -q '^Requires-Dist: nvidia' /usr/local/lib/python3*/site-packages/torch-*.dist-info/METADATA; then \
            pip install --no-deps --require-hashes --requirement locks/cuda.txt; \
        fi; \
    fi \
    && if [ "$GPU" = 1 ]; then pip uninstall -y faiss-cpu && pip install 'faiss-gpu-cu12>=1.12'; fi
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY heed heed
COPY pipelines pipelines
COPY documents documents
COPY topics topics
COPY qrels qrels
RUN pip install --no-deps --no-build-isolation . && useradd --uid 1000 --create-home heed && mkdir /work && chown heed /work
USER 1000
WORKDIR /work
ENTRYPOINT ["heed"]
