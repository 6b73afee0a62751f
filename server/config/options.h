// The options of a server.
#pragma once

#include <cstdint>
#include <string>

namespace locus::server {

// Every option is a flag of locusd; docs/configuration.md lists them. The
// defaults are safe on any machine: the server listens on loopback only and
// derives its limits from the hardware. Validate() checks the values, and
// WithDefaults() replaces zeros that stand for a default of the machine.
struct ServerOptions {
  // Address for RPCs: host:port or unix:/path. Port 0 selects a free port. If
  // empty, only the in-process channel is served.
  std::string listen = "127.0.0.1:50051";
  // Address for /metrics, /livez, /healthz and /readyz; not served if empty.
  std::string http = "127.0.0.1:9464";

  // Files of the certificate chain and its private key (PEM), for RPCs and
  // HTTP. If empty, both use plaintext.
  std::string tls_cert;
  std::string tls_key;
  // File of certificate authorities (PEM). If set, clients must present a
  // certificate issued by one of them, except for probes over HTTP.
  std::string tls_client_ca;

  // File of bearer tokens, one per line. If set, every call must present one.
  std::string auth_tokens;
  // Comma-separated list of parts that need no token: health, reflection,
  // metrics.
  std::string auth_exempt;
  // Whether tokens are accepted from other machines without TLS.
  bool allow_plaintext_tokens = false;

  // Max open connections; the server closes further ones. 0: as many as the
  // file descriptors of the process allow, at most 10000.
  int max_connections = 0;
  // Time after which an idle connection is closed; 0: never.
  double max_connection_idle_seconds = 1800;
  // Age at which any connection is closed, so that clients balance their load
  // and present their certificates again; 0: never.
  double max_connection_age_seconds = 0;
  // Max concurrent calls per connection. Further calls wait in the client,
  // where they cost the server nothing. The default is the minimum that HTTP/2
  // recommends, and below `max_queued_calls`, so that a single connection
  // rarely fills the queue.
  int max_streams = 100;
  // Max total size of the metadata of a call.
  int64_t max_metadata_bytes = int64_t{16} << 10;

  // Compute threads; 0: as many as the machine and its cgroup allow.
  int threads = 0;
  // Max calls that wait for a compute slot. Further calls are rejected with
  // UNAVAILABLE.
  int max_queued_calls = 1000;
  // Max expected wait of a call. A call that would wait longer is rejected with
  // UNAVAILABLE.
  double max_queue_seconds = 2;

  // Max size of a received or sent message.
  int64_t max_message_bytes = int64_t{512} << 20;
  // Max memory of all calls together; 0: half of the memory of the machine or
  // its cgroup.
  int64_t memory_budget_bytes = 0;
  // Max memory of one call; 0: `memory_budget_bytes`.
  int64_t max_call_bytes = 0;
  // Max multiplications and additions of one call; 0: ten minutes of all
  // threads on a slow processor.
  double max_call_flops = 0;
  // Max elements of a tensor; 0: as many floats as fit into `max_call_bytes`.
  int64_t max_elements = 0;
  // Max positions of a sequence; 0: `max_elements`.
  int64_t max_length = 0;
  // Max attention heads of a call.
  int64_t max_heads = 4096;

  // Max time for calls in flight to finish during a shutdown.
  double grace_seconds = 20;

  // Max concurrent evaluations. Further ones are rejected with UNAVAILABLE. 0:
  // the server runs no evaluations.
  int max_evaluations = 2;
  // Max multiplications and additions of an evaluation.
  double max_evaluation_flops = 2e14;
  // Whether evaluations run at the lowest priority of the operating system, so
  // that they yield to all other work on the machine.
  bool background_evaluations = true;

  // Whether to write a log line to standard error for each call.
  bool log_calls = true;
};

}  // namespace locus::server
