#include "server/http/http_connection.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace locus::server {

namespace {

// Unit of the timeouts of bodies and writes.
constexpr size_t kPieceBytes = 65'536;

constexpr absl::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

absl::string_view ErrorText(int status) {
  switch (status) {
    case 413:
      return "the body of the request is too large\n";
    case 431:
      return "the head of the request is too large\n";
    case 501:
      return "unsupported transfer encoding\n";
    case 505:
      return "use HTTP/1.1\n";
    default:
      return "malformed request\n";
  }
}

}  // namespace

// Forwards to the connection on the loop's thread, while the connection exists.
class ConnectionWriter final : public HttpResponseWriter {
 public:
  ConnectionWriter(std::shared_ptr<EventLoop> loop,
                   std::weak_ptr<HttpConnection> connection, uint64_t id)
      : loop_(std::move(loop)), connection_(std::move(connection)), id_(id) {}
  ~ConnectionWriter() override {
    if (complete_) return;
    Post([id = id_](HttpConnection& connection) { connection.Abandon(id); });
  }

  void Send(HttpResponse response) override {
    complete_ = true;
    Post([id = id_,
          response = std::move(response)](HttpConnection& connection) mutable {
      connection.SendResponse(id, std::move(response));
    });
  }
  void Start(HttpResponse head) override {
    Post(
        [id = id_, head = std::move(head)](HttpConnection& connection) mutable {
          connection.StartResponse(id, std::move(head));
        });
  }
  void Write(std::string piece, std::function<void(bool)> done) override {
    auto run = [weak = connection_, id = id_, piece = std::move(piece),
                done]() mutable {
      if (const auto connection = weak.lock()) {
        connection->WritePiece(id, std::move(piece), std::move(done));
      } else if (done != nullptr) {
        done(false);
      }
    };
    if (!loop_->Post(std::move(run)) && done != nullptr) done(false);
  }
  void Finish() override {
    complete_ = true;
    Post([id = id_](HttpConnection& connection) {
      connection.FinishResponse(id);
    });
  }
  void OnClosed(std::function<void()> on_closed) override {
    loop_->Post([weak = connection_, id = id_,
                 on_closed = std::move(on_closed)]() mutable {
      if (const auto connection = weak.lock()) {
        connection->SetOnClosed(id, std::move(on_closed));
      } else {
        on_closed();
      }
    });
  }

 private:
  template <typename Function>
  void Post(Function function) {
    loop_->Post([weak = connection_, function = std::move(function)]() mutable {
      if (const auto connection = weak.lock()) function(*connection);
    });
  }

  const std::shared_ptr<EventLoop> loop_;
  const std::weak_ptr<HttpConnection> connection_;
  const uint64_t id_;
  std::atomic<bool> complete_{false};
};

HttpConnection::HttpConnection(const Environment* environment,
                               std::unique_ptr<HttpTransport> transport)
    : environment_(*environment),
      limits_(*environment->limits),
      transport_(std::move(transport)),
      timer_(environment->loop.get()),
      last_activity_(Clock::now()),
      phase_start_(last_activity_) {}

void HttpConnection::Start() {
  CloseAfter(limits_.handshake_timeout);
  transport_->Handshake([self = shared_from_this()](bool ok) {
    if (self->state_ == State::kClosed) return;
    if (!ok) return self->Close();
    self->last_activity_ = self->phase_start_ = Clock::now();
    self->state_ = State::kIdle;
    self->CloseAfter(self->limits_.head_timeout);
    self->Read();
  });
}

void HttpConnection::Close() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  timer_.Cancel();
  transport_->Close();
  // A write in progress may still refer to the bytes, so they stay.
  for (Outgoing& outgoing : outgoing_) {
    if (const auto done = std::exchange(outgoing.done, nullptr)) done(false);
  }
  if (const auto on_closed = std::exchange(on_closed_, nullptr)) on_closed();
  environment_.on_closed(this);
}

HttpConnection::Waiting HttpConnection::waiting() const {
  if (state_ == State::kLingering) return Waiting::kBetweenRequests;
  if (state_ == State::kHandling) {
    return outgoing_.empty() ? Waiting::kForHandler : Waiting::kForReader;
  }
  return state_ == State::kIdle && id_ > 0 ? Waiting::kBetweenRequests
                                           : Waiting::kForRequest;
}

absl::string_view HttpConnection::buffered() const {
  return absl::string_view(buffer_).substr(consumed_);
}

void HttpConnection::Consume(size_t bytes) {
  consumed_ += bytes;
  if (consumed_ < buffer_.size() && consumed_ < kReadBytes) return;
  buffer_.erase(0, consumed_);
  consumed_ = 0;
}

void HttpConnection::Read() {
  if (reading_ || at_end_ || state_ == State::kLingering) return;
  if (buffered().size() >= limits_.max_head_bytes) return;
  reading_ = true;
  transport_->Read(chunk_.data(), chunk_.size(),
                   [self = shared_from_this()](bool ok, size_t bytes) {
                     self->reading_ = false;
                     self->OnRead(ok, bytes);
                   });
}

void HttpConnection::OnRead(bool ok, size_t bytes) {
  if (state_ == State::kClosed) return;
  if (state_ == State::kLingering) return Linger();
  if (!ok) return Close();
  last_activity_ = Clock::now();
  at_end_ = bytes == 0;
  buffer_.append(chunk_.data(), bytes);
  if (state_ != State::kHandling) return Process();
  Read();
}

void HttpConnection::CloseAfter(std::chrono::milliseconds timeout) {
  timer_.Start(timeout, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Close();
  });
}

void HttpConnection::Process() {
  if (state_ == State::kIdle && !buffered().empty()) BeginRequest();
  if (state_ == State::kHead && ProcessHead()) OnHead();
  if (state_ == State::kBody) ProcessBody();
  const bool needs_input = state_ == State::kIdle || state_ == State::kHead ||
                           state_ == State::kBody;
  if (needs_input && at_end_) return BeginLingering();
  if (state_ != State::kClosed) Read();
}

void HttpConnection::BeginRequest() {
  state_ = State::kHead;
  scanner_ = HttpHeadScanner();
  is_head_ = http10_ = false;
  keep_alive_ = true;
  // The first request has the time since the connection was accepted.
  if (id_ == 0) return;
  phase_start_ = Clock::now();
  CloseAfter(limits_.head_timeout);
}

bool HttpConnection::ProcessHead() {
  // One empty line before a request is ignored (RFC 9112, section 2.2).
  if (absl::StartsWith(buffered(), "\r\n") && scanner_.length() == 0) {
    Consume(2);
  }
  const absl::string_view head = buffered().substr(0, limits_.max_head_bytes);
  switch (scanner_.Scan(head)) {
    case HttpHeadScanner::Result::kMalformed:
      Fail(400);
      return false;
    case HttpHeadScanner::Result::kIncomplete:
      if (head.size() == limits_.max_head_bytes) Fail(431);
      return false;
    case HttpHeadScanner::Result::kComplete:
      break;
  }
  parser_ = std::make_unique<HttpRequestParser>();
  if (const int error = parser_->ParseHead(head.substr(0, scanner_.length()));
      error != 0) {
    Fail(error);
    return false;
  }
  Consume(scanner_.length());
  return true;
}

void HttpConnection::OnHead() {
  HttpRequest& request = parser_->request();
  is_head_ = request.method == "HEAD";
  http10_ = parser_->http10();
  keep_alive_ = parser_->keep_alive();
  route_ = environment_.router->Find(request.path);
  if (std::optional<HttpResponse> response = CheckRequest(route_)) {
    // The body of a rejected request is not read.
    if (parser_->has_body()) keep_alive_ = false;
    return Respond(*std::move(response));
  }
  if (!parser_->SetMaxBodyBytes(route_->max_body_bytes)) return Fail(413);
  if (!parser_->has_body()) return Dispatch();
  state_ = State::kBody;
  body_bytes_ = 0;
  CloseAfter(limits_.body_timeout);
  if (parser_->expects_continue() && buffered().empty()) {
    Enqueue(std::string(kContinue), "", nullptr);
  }
}

std::optional<HttpResponse> HttpConnection::CheckRequest(
    const HttpRoute* route) {
  const HttpRequest& request = parser_->request();
  if (environment_.requires_client_certificate &&
      !transport_->client_verified() &&
      (route == nullptr || !route->without_client_certificate)) {
    return HttpTextResponse(403, "a client certificate is required\n");
  }
  if (route == nullptr) {
    return HttpTextResponse(404,
                            absl::StrCat("not found; try one of ",
                                         environment_.router->Paths(), "\n"));
  }
  if (!AllowsMethod(*route, request.method)) return MethodNotAllowed(*route);
  if (!request.Header("Expect").empty() && !parser_->expects_continue()) {
    return HttpTextResponse(417, "unknown expectation\n");
  }
  return route->check == nullptr ? std::nullopt : route->check(request);
}

void HttpConnection::ProcessBody() {
  if (buffered().empty()) return;
  const HttpRequestParser::BodyResult result = parser_->ParseBody(buffered());
  Consume(result.consumed_bytes);
  if (result.error != 0) return Fail(result.error);
  if (result.complete) return Dispatch();
  // The line of a chunk or a trailer that does not end.
  if (buffered().size() >= limits_.max_head_bytes) return Fail(400);
  body_bytes_ += result.consumed_bytes;
  if (body_bytes_ >= kPieceBytes) {
    body_bytes_ = 0;
    CloseAfter(limits_.body_timeout);
  }
}

void HttpConnection::Dispatch() {
  state_ = State::kHandling;
  if (!writing_) timer_.Cancel();
  phase_start_ = Clock::now();
  started_ = finished_ = false;
  ++id_;
  route_->handler(std::move(parser_->request()),
                  std::make_shared<ConnectionWriter>(environment_.loop,
                                                     weak_from_this(), id_));
}

void HttpConnection::Fail(int status) {
  keep_alive_ = false;
  Respond(HttpTextResponse(status, ErrorText(status)));
}

void HttpConnection::Respond(HttpResponse response) {
  state_ = State::kHandling;
  timer_.Cancel();
  started_ = finished_ = false;
  ++id_;
  SendResponse(id_, std::move(response));
}

bool HttpConnection::IsCurrent(uint64_t id, bool started) const {
  return state_ == State::kHandling && id == id_ && started_ == started &&
         !finished_;
}

void HttpConnection::SendResponse(uint64_t id, HttpResponse response) {
  if (!IsCurrent(id, false)) return;
  started_ = finished_ = true;
  auto head =
      SerializeHttpHead(response, {HttpFraming::kLength, keep_alive_, http10_});
  if (!head.has_value()) {
    response = HttpTextResponse(500, "invalid response\n");
    head = SerializeHttpHead(response,
                             {HttpFraming::kLength, keep_alive_, http10_});
  }
  if (is_head_ || HttpStatusHasNoBody(response.status)) response.body.clear();
  Enqueue(*std::move(head), std::move(response.body), [this](bool ok) {
    if (ok) EndRequest();
  });
}

void HttpConnection::StartResponse(uint64_t id, HttpResponse head) {
  if (!IsCurrent(id, false)) return;
  framing_ = http10_ ? HttpFraming::kClose : HttpFraming::kChunked;
  if (http10_) keep_alive_ = false;
  auto serialized = SerializeHttpHead(head, {framing_, keep_alive_, http10_});
  if (!serialized.has_value() || HttpStatusHasNoBody(head.status)) {
    return SendResponse(id, HttpTextResponse(500, "invalid response\n"));
  }
  started_ = true;
  Enqueue(*std::move(serialized), "", nullptr);
  if (!head.body.empty()) WritePiece(id, std::move(head.body), nullptr);
}

void HttpConnection::WritePiece(uint64_t id, std::string piece,
                                std::function<void(bool)> done) {
  if (!IsCurrent(id, true)) {
    if (done != nullptr) done(false);
    return;
  }
  // An empty chunk would end the body.
  if (is_head_ || piece.empty()) return Enqueue("", "", std::move(done));
  if (framing_ == HttpFraming::kClose) {
    return Enqueue("", std::move(piece), std::move(done));
  }
  std::string size = absl::StrFormat("%x\r\n", piece.size());
  piece.append("\r\n");
  Enqueue(std::move(size), std::move(piece), std::move(done));
}

void HttpConnection::FinishResponse(uint64_t id) {
  if (!IsCurrent(id, true)) return;
  finished_ = true;
  const bool chunked = framing_ == HttpFraming::kChunked && !is_head_;
  Enqueue(chunked ? "0\r\n\r\n" : "", "", [this](bool ok) {
    if (ok) EndRequest();
  });
}

void HttpConnection::Abandon(uint64_t id) {
  if (IsCurrent(id, false)) {
    SendResponse(id, HttpTextResponse(500, "internal error\n"));
  } else if (IsCurrent(id, true)) {
    Close();
  }
}

void HttpConnection::SetOnClosed(uint64_t id, std::function<void()> on_closed) {
  if (state_ == State::kClosed) return on_closed();
  if (state_ == State::kHandling && id == id_ && !finished_) {
    on_closed_ = std::move(on_closed);
  }
}

void HttpConnection::Enqueue(std::string bytes, std::string body,
                             std::function<void(bool)> done) {
  outgoing_.push_back({std::move(bytes), std::move(body), std::move(done)});
  if (!writing_) WriteSome();
}

void HttpConnection::WriteSome() {
  // Entries without bytes are complete when they reach the front.
  while (!outgoing_.empty() && state_ != State::kClosed) {
    Outgoing& front = outgoing_.front();
    if (sent_bytes_ < front.bytes.size() + front.body.size()) break;
    const auto done = std::move(front.done);
    outgoing_.pop_front();
    sent_bytes_ = 0;
    if (done != nullptr) done(true);
    // `done` may have ended the request, or may have started the next write.
    if (writing_) return;
  }
  if (outgoing_.empty() || state_ == State::kClosed) {
    if (state_ == State::kHandling) timer_.Cancel();
    return;
  }
  const Outgoing& front = outgoing_.front();
  const size_t head_sent = std::min(sent_bytes_, front.bytes.size());
  const size_t body_sent = sent_bytes_ - head_sent;
  writing_ = true;
  if (state_ == State::kHandling) CloseAfter(limits_.write_timeout);
  transport_->Write(
      absl::string_view(front.bytes).substr(head_sent),
      absl::string_view(front.body).substr(body_sent, kPieceBytes),
      [self = shared_from_this()](bool ok, size_t bytes) {
        self->OnWritten(ok, bytes);
      });
}

void HttpConnection::OnWritten(bool ok, size_t bytes) {
  writing_ = false;
  if (state_ == State::kClosed) return;
  if (!ok) return Close();
  last_activity_ = Clock::now();
  sent_bytes_ += bytes;
  WriteSome();
}

void HttpConnection::EndRequest() {
  on_closed_ = nullptr;
  parser_.reset();
  if (!keep_alive_) return BeginLingering();
  state_ = State::kIdle;
  phase_start_ = Clock::now();
  CloseAfter(limits_.idle_timeout);
  Process();
}

void HttpConnection::BeginLingering() {
  state_ = State::kLingering;
  CloseAfter(limits_.linger_timeout);
  if (reading_) return transport_->CancelRead();
  Linger();
}

void HttpConnection::Linger() {
  transport_->ShutdownSend([self = shared_from_this()] {
    if (self->state_ == State::kClosed) return;
    self->DiscardInput();
  });
}

void HttpConnection::DiscardInput() {
  transport_->Discard([self = shared_from_this()](bool ok, size_t bytes) {
    if (self->state_ == State::kClosed) return;
    if (!ok || bytes == 0) return self->Close();
    self->DiscardInput();
  });
}

}  // namespace locus::server
