// Usage: library_calls ADDRESS COUNT
//
// Makes COUNT sequential calls through one locus::client::Client. Exits with 1
// at the first call that fails.
#include <cstdio>
#include <cstdlib>

#include "locus/client/client.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto client = locus::client::Client::Connect({.address = argv[1]});
  if (!client.ok()) return 2;
  for (int i = std::atoi(argv[2]); i > 0; --i) {
    const auto listed = (*client)->ListSchemes();
    if (listed.ok()) continue;
    std::fprintf(stderr, "%s\n", listed.status().ToString().c_str());
    return 1;
  }
  return 0;
}
