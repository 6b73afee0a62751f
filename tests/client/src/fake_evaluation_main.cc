// FakeEvaluation as a program, together with an EncodingService whose texts
// contain control characters. Prints its port and serves until the end of
// standard input.
//
//   fake_evaluation MANIFEST
#include <fstream>
#include <iostream>
#include <sstream>

#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "locus/v1/encoding.grpc.pb.h"
#include "tests/client/src/fake_evaluation.h"

namespace {

class HostileEncoding final : public locus::v1::EncodingService::Service {
 public:
  grpc::Status ListSchemes(grpc::ServerContext*,
                           const locus::v1::ListSchemesRequest*,
                           locus::v1::ListSchemesResponse* response) override {
    using locus::client::FakeEvaluation;
    locus::v1::SchemeDescription* scheme = response->add_schemes();
    scheme->set_name("rope");
    scheme->set_title(FakeEvaluation::HostileText("title"));
    scheme->set_reference(FakeEvaluation::HostileText("reference"));
    scheme->set_beyond_training(FakeEvaluation::HostileText("beyond"));
    locus::v1::SchemeParameter* parameter = scheme->add_parameters();
    parameter->set_name("base");
    parameter->set_description(FakeEvaluation::HostileText("base"));
    scheme->add_promises()->set_note(FakeEvaluation::HostileText("note"));
    return grpc::Status::OK;
  }

  grpc::Status Encode(grpc::ServerContext*, const locus::v1::EncodeRequest*,
                      locus::v1::EncodeResponse*) override {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                        locus::client::FakeEvaluation::HostileText("error"));
  }
};

}  // namespace

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
  HostileEncoding encoding;
  builder.RegisterService(&encoding);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::cout << port << std::endl;
  while (std::cin.get() != EOF) {
  }
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}
