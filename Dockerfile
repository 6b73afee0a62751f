# The image contains locusd, locus and the Debian files that they use: no shell, no
# package manager. Build it with ./run image, verify it with deploy/test-image.sh;
# deploy/README.md explains how to run it.
#
# To pin the base image, pass a digest: --build-arg BASE=debian@sha256:...
ARG BASE=debian:bookworm-slim

FROM $BASE AS builder
WORKDIR /src
COPY run ./
RUN ./run setup
COPY . .
# The build context has no .git directory, so the commit is an argument.
ARG COMMIT=
RUN cmake --preset release -DLOCUS_BUILD_TESTS=OFF -DLOCUS_BUILD_BENCHMARKS=OFF \
      -DLOCUS_COMMIT="$COMMIT" \
 && cmake --build --preset release --parallel "$(nproc)" --target locusd locus \
 && install -D --strip --target-directory=/out build/release/locusd build/release/locus

# Installs the runtime packages only, without development packages, so that the
# collected libraries are the ones that Debian ships to users.
FROM $BASE AS root
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      libgrpc++1.51 libhwy1 libprometheus-cpp-core1.0 libtcmalloc-minimal4 \
      libpangocairo-1.0-0 libcairo2 fonts-dejavu-core
COPY --from=builder /out/ /usr/local/bin/
COPY deploy/collect-root.sh LICENSE /
ARG SOURCE_DATE_EPOCH=0
RUN sh /collect-root.sh /root-of-image

FROM scratch
COPY --from=root /root-of-image/ /
# Numeric, so that Kubernetes can verify runAsNonRoot.
USER 65532:65532
ENV PATH=/usr/local/bin LOCUS_LISTEN=0.0.0.0:50051 LOCUS_HTTP=0.0.0.0:9464
EXPOSE 50051 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
  CMD ["locus", "health", "--timeout", "2s"]
ENTRYPOINT ["locusd"]
ARG VERSION=unknown
LABEL org.opencontainers.image.title="Locus" \
      org.opencontainers.image.description="Positional encodings and attention as a service" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.licenses="Apache-2.0"
