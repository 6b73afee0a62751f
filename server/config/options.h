// How locusd is told to run.
#pragma once

#include <cstdint>
#include <string>

namespace locus::server {

// Defaults are safe on any machine: loopback only, limits from the hardware.
struct ServerOptions {
  // Where the RPCs are served; empty: nowhere but in this process. Port 0
  // takes a free one.
  std::string listen = "127.0.0.1:50051";
  // Where /metrics, /healthz and /readyz are served; empty: nowhere.
  std::string http = "127.0.0.1:9464";
  // Certificate and key in PEM form; empty: plaintext. Clients need one of
  // `tls_client_ca` unless that is empty.
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;
  // A file of bearer tokens, one of which every call needs; empty: none does.
  std::string auth_tokens;
  // What needs none all the same: health, reflection, metrics, with commas.
  std::string auth_exempt;
  // Whether tokens may come in plaintext from another machine.
  bool allow_plaintext_tokens = false;
  // Connections at once; more are hung up on. 0: as many as the process has
  // descriptors for, at most 10000.
  int max_connections = 0;
  // When one that nobody uses is closed; when any is, so that clients balance
  // anew and show certificates anew. 0: never.
  double max_connection_idle_seconds = 1800;
  double max_connection_age_seconds = 0;
  // Calls of one connection at once; more wait in the client, where they cost
  // us nothing. Fewer than wait here, so that one connection alone is hardly
  // ever refused; as many as HTTP/2 recommends at least.
  int max_streams = 100;
  // What a caller's metadata may have together.
  int64_t max_metadata_bytes = int64_t{16} << 10;
  // Threads that compute; 0: as many as the machine, or its cgroup, grants.
  int threads = 0;
  // Calls that may wait for a thread; more are refused as UNAVAILABLE.
  int max_queued_calls = 1000;
  // How long a call may be expected to wait; longer ones are refused, too.
  double max_queue_seconds = 2;
  // The largest message received or sent.
  int64_t max_message_bytes = int64_t{512} << 20;
  // All calls together; 0: half of the memory of the machine or its cgroup.
  int64_t memory_budget_bytes = 0;
  // One call: memory, 0: all of the budget; multiplications and additions, 0:
  // ten minutes of what the threads do at least; elements of a tensor, 0: as
  // many floats as its memory holds; positions of a sequence, 0: as many as a
  // tensor has elements; heads.
  int64_t max_call_bytes = 0;
  double max_call_flops = 0;
  int64_t max_elements = 0;
  int64_t max_length = 0;
  int64_t max_heads = 4096;
  // How long calls in flight may take to finish once shutdown was asked for.
  double grace_seconds = 20;
  // Evaluations at once; more are refused as UNAVAILABLE. 0: none at all.
  int max_evaluations = 2;
  // The largest evaluation, in multiplications and additions.
  double max_evaluation_flops = 2e14;
  // Whether evaluations yield to everything else that runs on the machine.
  bool background_evaluations = true;
  // One line per call on standard error.
  bool log_calls = true;
};

}  // namespace locus::server
