# Where flows and tasks run: Prefect, Ray and the whole of kernelvault. It carries bubblewrap and
# LLVM 22 too, so that one worker can verify by itself where its host allows user namespaces.
#
# BASE comes from images.lock and has no default: nothing is built on a tag that can move.
ARG BASE

FROM ${BASE} AS system
ARG DEBIAN
ARG DEBIAN_SECURITY
# What is removed at the end holds times and the order of an installation, which differ each time.
RUN set -eu; \
    rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*; \
    printf 'deb [check-valid-until=no] %s bookworm main\n' "${DEBIAN}" > /etc/apt/sources.list; \
    printf 'deb [check-valid-until=no] %s bookworm-security main\n' "${DEBIAN_SECURITY}" \
        >> /etc/apt/sources.list; \
    export DEBIAN_FRONTEND=noninteractive; \
    apt-get update -qq; \
    apt-get install -y -qq --no-install-recommends \
        bubblewrap ca-certificates clang-22 clang-tools-22 g++ libclang-rt-22-dev \
        libseccomp2 lld-22 llvm-22 python3; \
    apt-get clean; \
    rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /tmp/*

FROM system AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv
ARG TORCH_INDEX
COPY constraints.txt infra/images/pins.txt /build/
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# The versions are in constraints.txt and pins.txt. PyTorch comes without what it depends on,
# because its index is to be asked for nothing else.
RUN set -eu; \
    python3 -m venv /opt/kernelvault; \
    cd /build; \
    pip="/opt/kernelvault/bin/pip install -q --no-compile -c constraints.txt -c pins.txt"; \
    $pip setuptools; \
    $pip --no-deps --index-url "${TORCH_INDEX}" torch
COPY pyproject.toml README.md LICENSE /build/source/
COPY kernelvault /build/source/kernelvault
COPY flows /build/source/flows
COPY tasks /build/source/tasks
COPY expectations /build/source/expectations
COPY schemas /build/source/schemas
ARG SOURCE_DATE_EPOCH
# Compiled by content: a time in a .pyc would differ from build to build. Some packages ship
# templates that do not compile; those are no modules.
RUN set -eu; \
    /opt/kernelvault/bin/pip install -q --no-compile -c /build/constraints.txt -c /build/pins.txt \
        --no-build-isolation /build/source; \
    PYTHONHASHSEED=0 /opt/kernelvault/bin/python -m compileall -f -qq \
        --invalidation-mode unchecked-hash /opt/kernelvault/lib || true

FROM system
COPY --from=build /opt/kernelvault /opt/kernelvault
COPY infra/images/health.py infra/images/sbom.py /usr/share/kernelvault/
ENV PATH=/opt/kernelvault/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/home/kernelvault \
    LC_ALL=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1
ARG VERSION
ARG REVISION
ARG CREATED
ARG BASE_NAME
ARG BASE_DIGEST
ARG SOURCE_DATE_EPOCH
LABEL org.opencontainers.image.title="kernelvault worker" \
      org.opencontainers.image.description="Runs the flows and tasks of kernelvault" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="${BASE_NAME}" \
      org.opencontainers.image.base.digest="${BASE_DIGEST}"
RUN set -eu; \
    groupadd --gid 10001 kernelvault; \
    useradd --uid 10001 --gid 10001 --no-create-home --home-dir /home/kernelvault \
        --shell /usr/sbin/nologin kernelvault; \
    install -d -o 10001 -g 10001 /home/kernelvault; \
    rm -rf /var/log/*; \
    python3 /usr/share/kernelvault/sbom.py worker "${VERSION}" \
        /usr/share/kernelvault/sbom.spdx.json
USER 10001:10001
WORKDIR /home/kernelvault
HEALTHCHECK --interval=5m --timeout=60s --start-period=30s --retries=2 \
    CMD ["python3", "/usr/share/kernelvault/health.py", "worker"]
CMD ["kernelvault", "doctor"]
