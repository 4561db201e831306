# Where candidates are compiled and executed on an AMD GPU: ROCm, its PyTorch and the harness.
# It runs untrusted code, so it holds no orchestrator, no database and no credentials. The GPU is
# given to a container with --device /dev/kfd --device /dev/dri and the host's groups for them.
#
# BASE comes from images.lock and has no default: nothing is built on a tag that can move.
ARG BASE

FROM ${BASE} AS build
USER root
COPY constraints.txt infra/images/pins.txt /build/
COPY pyproject.toml README.md LICENSE /build/source/
COPY kernelvault /build/source/kernelvault
COPY flows /build/source/flows
COPY tasks /build/source/tasks
COPY expectations /build/source/expectations
COPY schemas /build/source/schemas
ARG SOURCE_DATE_EPOCH
# An environment of its own builds the wheel: the setuptools that this takes is not to replace the
# one that the base's PyTorch was tested with. For the same reason torch, triton and numpy are left
# out of the versions that the image below installs: they are those of the base.
RUN set -eu; \
    cd /build; \
    python3 -m venv --without-pip tools; \
    pip="python3 -m pip --python tools/bin/python --no-cache-dir --disable-pip-version-check"; \
    $pip install -q -c pins.txt setuptools; \
    $pip wheel -q --no-deps --no-build-isolation --wheel-dir wheels ./source; \
    cat constraints.txt pins.txt | grep -vE '^(torch|triton|numpy)==' > wheels/versions.txt

FROM ${BASE}
USER root
ENV HOME=/tmp \
    LC_ALL=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1
COPY --from=build /build/wheels /build
# The last two lines hold the base to what the harness is about: PyTorch for ROCm, and an
# interpreter that is found without this image's PATH, which a sandbox replaces.
RUN set -eu; \
    export PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
        PIP_BREAK_SYSTEM_PACKAGES=1 PYTHONHASHSEED=0; \
    python3 -m pip install -q --no-compile -c /build/versions.txt \
        numpy pyarrow tree-sitter tree-sitter-cpp; \
    python3 -m pip install -q --no-compile --no-deps /build/*.whl; \
    site=$(python3 -c 'import kernelvault; print(kernelvault.__path__[0].rpartition("/")[0])'); \
    for package in kernelvault schemas pyarrow tree_sitter tree_sitter_cpp; do \
        python3 -m compileall -f -qq --invalidation-mode unchecked-hash "$site/$package" || true; \
    done; \
    rm -rf /build /tmp/* /var/log/*; \
    python3 -c 'import torch; assert torch.version.hip, "the base has no PyTorch for ROCm"'; \
    PATH=/usr/bin:/bin python3 -I -S -B -c 'import sys; assert sys.version_info >= (3, 11)'
COPY infra/images/health.py infra/images/sbom.py /usr/share/kernelvault/
ARG VERSION
ARG REVISION
ARG CREATED
ARG BASE_NAME
ARG BASE_DIGEST
ARG SOURCE_DATE_EPOCH
LABEL org.kernelvault.sandbox="1" \
      org.kernelvault.rootfs="own" \
      org.opencontainers.image.title="kernelvault verify-rocm" \
      org.opencontainers.image.description="Compiles and executes candidates on an AMD GPU" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="${BASE_NAME}" \
      org.opencontainers.image.base.digest="${BASE_DIGEST}"
# A sandbox mounts /in, /out and /tmp over these.
RUN set -eu; \
    groupadd --gid 10001 sandbox; \
    useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin \
        sandbox; \
    install -d -m 0755 /in; \
    install -d -m 1777 /out; \
    python3 /usr/share/kernelvault/sbom.py verify-rocm "${VERSION}" \
        /usr/share/kernelvault/sbom.spdx.json
USER 10001:10001
WORKDIR /tmp
HEALTHCHECK --interval=5m --timeout=120s --start-period=60s --retries=2 \
    CMD ["python3", "/usr/share/kernelvault/health.py", "verify-rocm"]
CMD ["python3", "/usr/share/kernelvault/health.py", "verify-rocm"]
