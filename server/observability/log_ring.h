// The bounded queue of log lines that have not been written yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace locus::server {

// A FIFO queue of lines, bounded by count and by bytes. A new line displaces
// the oldest ones if there is no room for it. Not thread-safe.
//
// Lines are numbered in the order of Push(), from 0.
class LogRing {
 public:
  struct Limits {
    size_t max_lines;
    size_t max_bytes;
  };

  explicit LogRing(const Limits& limits) : limits_(limits) {}

  // Appends a line and removes the oldest lines until the limits hold. Returns
  // the number of lines removed. A line longer than max_bytes is not appended,
  // gets no number, and counts as removed.
  int64_t Push(std::string line) {
    if (line.size() > limits_.max_bytes) return 1;
    int64_t removed = 0;
    while (lines_.size() >= limits_.max_lines ||
           bytes_ + line.size() > limits_.max_bytes) {
      PopFront();
      ++removed;
    }
    bytes_ += line.size();
    lines_.push_back(std::move(line));
    return removed;
  }

  // Removes the oldest lines and returns them as one text: as many as fit into
  // `max_bytes`, but at least one. The ring must not be empty.
  std::string Pop(size_t max_bytes) {
    std::string text = PopFront();
    while (!lines_.empty() &&
           text.size() + lines_.front().size() <= max_bytes) {
      text += PopFront();
    }
    return text;
  }

  bool empty() const { return lines_.empty(); }
  // The number of the oldest line, or end() if the ring is empty.
  int64_t begin() const { return begin_; }
  // The number that the next line will get.
  int64_t end() const { return begin_ + static_cast<int64_t>(lines_.size()); }

 private:
  std::string PopFront() {
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    bytes_ -= line.size();
    ++begin_;
    return line;
  }

  const Limits limits_;
  std::deque<std::string> lines_;
  size_t bytes_ = 0;  // the sum of the sizes of lines_
  int64_t begin_ = 0;
};

}  // namespace locus::server
