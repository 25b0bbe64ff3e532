# Builds chatterd and chatter with a static Swift library. The image has no toolchain.
FROM swift:6.3.1-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends libpq-dev libssl-dev libedit-dev pkgconf \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN swift build -c release --static-swift-stdlib -Xswiftc -enforce-exclusivity=unchecked --product chatterd \
    && swift build -c release --static-swift-stdlib -Xswiftc -enforce-exclusivity=unchecked --product chatter \
    && cd "$(swift build -c release --static-swift-stdlib --show-bin-path)" \
    && install -s chatterd chatter /usr/local/bin/

FROM debian:12.12-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends libpq5 libssl3 libedit2 libstdc++6 ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --user-group --no-create-home chatterd
COPY --from=build /usr/local/bin/chatterd /usr/local/bin/chatter /usr/local/bin/
USER chatterd
ENV CHATTERD_LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["chatterd", "health"]
ENTRYPOINT ["chatterd"]
CMD ["serve"]
