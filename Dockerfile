# CPU by default; --build-arg GPU=1 brings FAISS for the GPU. The registry's torch holds CUDA on Linux either way;
# --build-arg TORCH_INDEX=URL of an index with CPU wheels of torch keeps it out.
FROM python:3.11-slim

ARG GPU=0
ARG TORCH_INDEX=""
WORKDIR /heed
COPY pyproject.toml constraints.txt README.md LICENSE ./
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
ENTRYPOINT ["python", "-m", "pipelines"]
