#include "client/plot/frame.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include "client/plot/text.h"

namespace locus::client::plot {
namespace {

constexpr double kTickSize = 11.5;
constexpr double kNoteSize = 12;

double MaxWidth(const std::vector<std::string>& labels) {
  double widest = 0;
  for (const std::string& label : labels) {
    widest = std::max(widest, TextWidth(label, kTickSize));
  }
  return widest;
}

void AddYAxis(const std::vector<double>& ticks,
              const std::vector<std::string>& labels, Frame& frame) {
  for (size_t i = 0; i < ticks.size(); ++i) {
    const double y = frame.y.At(ticks[i]);
    frame.shapes.emplace_back(
        Path{.points = {{frame.area.low_x, y}, {frame.area.high_x, y}},
             .style = {.stroke = Role::kGrid}});
    frame.shapes.emplace_back(
        Text{.at = {frame.area.low_x - 8, y + 0.35 * kTickSize},
             .text = labels[i],
             .size = kTickSize,
             .anchor = Anchor::kEnd,
             .color = Role::kQuiet});
  }
}

// Adds the x axis. Labels that would overlap the previous label are omitted.
void AddXAxis(const std::vector<double>& ticks,
              const std::vector<std::string>& labels, Frame& frame) {
  const double bottom = frame.area.high_y;
  frame.shapes.emplace_back(
      Path{.points = {{frame.area.low_x, bottom}, {frame.area.high_x, bottom}},
           .style = {.stroke = Role::kQuiet}});
  double free_from = -1e9;
  for (size_t i = 0; i < ticks.size(); ++i) {
    const double x = frame.x.At(ticks[i]);
    frame.shapes.emplace_back(Path{.points = {{x, bottom}, {x, bottom + 5}},
                                   .style = {.stroke = Role::kQuiet}});
    const double half = TextWidth(labels[i], kTickSize) / 2;
    if (x - half < free_from) continue;
    free_from = x + half + 6;
    frame.shapes.emplace_back(Text{.at = {x, bottom + 6 + kTickSize},
                                   .text = labels[i],
                                   .size = kTickSize,
                                   .anchor = Anchor::kMiddle,
                                   .color = Role::kQuiet});
  }
}

}  // namespace

double AddHeading(const std::string& title, const std::string& note,
                  double width, std::vector<Shape>& shapes, double title_size) {
  if (title.empty() && note.empty()) return 8;
  double y = kChartMargin;
  // Bold letters are wider.
  for (const std::string& line :
       WrapWords(title, 1.06 * title_size, width - 2 * kChartMargin)) {
    y += title_size;
    shapes.emplace_back(Text{.at = {kChartMargin, y},
                             .text = line,
                             .size = title_size,
                             .bold = true});
    y += 4;
  }
  for (const absl::string_view paragraph : absl::StrSplit(note, '\n')) {
    for (const std::string& line :
         WrapWords(paragraph, kNoteSize, width - 2 * kChartMargin)) {
      y += kNoteSize + 2;
      shapes.emplace_back(Text{.at = {kChartMargin, y},
                               .text = line,
                               .size = kNoteSize,
                               .color = Role::kQuiet});
      y += 2;
    }
  }
  return y + 8;
}

Frame MakeFrame(const FrameOptions& options) {
  std::vector<Shape> heading;
  double top = AddHeading(options.title, options.note, options.width, heading,
                          options.title_size);
  const std::vector<double> y_ticks =
      options.log_y ? LogTicks(options.y_range)
                    : NiceTicks(options.y_range, options.height < 220 ? 2 : 5);
  const std::vector<std::string> y_labels = TickLabels(y_ticks);
  // The label of the y axis is horizontal, above the axis.
  if (!options.y_label.empty()) {
    top += 13;
    heading.emplace_back(
        Text{.at = {kChartMargin, top},
             .text = Ellipsized(options.y_label, kTickSize,
                                options.width - 2 * kChartMargin),
             .size = kTickSize,
             .color = Role::kQuiet});
    top += 12;
  }
  const Area area{kChartMargin + MaxWidth(y_labels) + 10,
                  options.width - options.right - kChartMargin, top,
                  options.height - (options.x_label.empty() ? 30 : 48)};
  // Padding keeps markers at both ends inside the area.
  const Interval x_pixels{area.low_x + 10, area.high_x - 10};
  const Interval y_pixels{area.high_y, area.low_y + options.headroom};
  Frame frame{.area = area,
              .x = options.log_x ? Scale::Log(options.x_range, x_pixels)
                                 : Scale::Linear(options.x_range, x_pixels),
              .y = options.log_y ? Scale::Log(options.y_range, y_pixels)
                                 : Scale::Linear(options.y_range, y_pixels),
              .shapes = std::move(heading)};
  AddYAxis(y_ticks, y_labels, frame);
  const std::vector<double> x_ticks =
      options.x_ticks.empty()
          ? NiceTicks(options.x_range, options.width < 500 ? 5 : 8)
          : options.x_ticks;
  AddXAxis(x_ticks,
           options.x_tick_labels.size() == x_ticks.size()
               ? options.x_tick_labels
               : TickLabels(x_ticks),
           frame);
  if (!options.x_label.empty()) {
    frame.shapes.emplace_back(
        Text{.at = {(area.low_x + area.high_x) / 2, options.height - 12},
             .text = options.x_label,
             .size = kTickSize,
             .anchor = Anchor::kMiddle,
             .color = Role::kQuiet});
  }
  return frame;
}

}  // namespace locus::client::plot
