# CPU by default; --build-arg GPU=1 installs FAISS for the GPU. The package index's torch comes with CUDA on Linux either
# way; --build-arg TORCH_INDEX=URL takes a smaller torch from an index with CPU wheels.
FROM python:3.11-slim

ARG GPU=0
ARG TORCH_INDEX=""
WORKDIR /heed
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY heed heed
COPY pipelines pipelines
COPY documents documents
COPY topics topics
COPY qrels qrels

RUN if [ -n "$TORCH_INDEX" ]; then pip install --no-cache-dir --index-url "$TORCH_INDEX" torch==2.13.0; fi \
    && pip install --no-cache-dir -c constraints.txt . \
    && if [ "$GPU" = 1 ]; then \
        pip uninstall -y faiss-cpu && pip install --no-cache-dir 'faiss-gpu-cu12>=1.12'; \
    fi

RUN useradd --create-home heed && mkdir -p /work && chown heed /work
USER heed
WORKDIR /work
ENTRYPOINT ["heed"]
