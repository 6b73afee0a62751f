// FakeEvaluation as a program. Prints its port and serves until the end of
// standard input.
//
//   fake_evaluation MANIFEST
#include <fstream>
#include <iostream>
#include <sstream>

#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "tests/client/src/fake_evaluation.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ostringstream manifest;
  manifest << std::ifstream(argv[1]).rdbuf();
  locus::client::FakeEvaluation service(manifest.str());
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::cout << port << std::endl;
  while (std::cin.get() != EOF) {
  }
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}
