# The service and its client in a small image: ./run image builds it, and
# deploy/README.md says how to run it.

FROM debian:bookworm-slim AS builder
WORKDIR /src
COPY run ./
RUN ./run setup
COPY . .
RUN cmake --preset release -DLOCUS_BUILD_TESTS=OFF -DLOCUS_BUILD_BENCHMARKS=OFF \
 && cmake --build --preset release --parallel "$(nproc)" --target locusd locus \
 && install -D --strip --target-directory=/out build/release/locusd build/release/locus

FROM debian:bookworm-slim
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      libgrpc++1.51 libhwy1 libprometheus-cpp-core1.0 libcivetweb1 \
      libpangocairo-1.0-0 libcairo2 fonts-dejavu-core \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old \
      /var/lib/dpkg/*-old /var/log/apt /var/log/dpkg.log
COPY --from=builder /out/ /usr/local/bin/
COPY LICENSE /usr/share/licenses/locus/
# A number, so that a cluster can see it is not root.
USER 65532:65532
ENV LOCUS_LISTEN=0.0.0.0:50051 LOCUS_HTTP=0.0.0.0:9464
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
