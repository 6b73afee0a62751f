#include "client/plot/png.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "cairo.h"
#include "client/plot/png_text.h"
#include "pango/pangocairo.h"

namespace locus::client::plot {
namespace {

// Deleter of std::unique_ptr that calls a C function.
template <auto kFree>
struct Deleter {
  template <typename T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};
using Surface =
    std::unique_ptr<cairo_surface_t, Deleter<cairo_surface_destroy>>;
using Context = std::unique_ptr<cairo_t, Deleter<cairo_destroy>>;
using Layout = std::unique_ptr<PangoLayout, Deleter<g_object_unref>>;
using Font =
    std::unique_ptr<PangoFontDescription, Deleter<pango_font_description_free>>;

cairo_status_t Append(void* bytes, const unsigned char* data,
                      unsigned int length) {
  static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(data),
                                           length);
  return CAIRO_STATUS_SUCCESS;
}

std::string Encoded(cairo_surface_t* surface) {
  std::string bytes;
  cairo_surface_write_to_png_stream(surface, Append, &bytes);
  return bytes;
}

Surface MakeSurface(const Raster& raster, Theme theme) {
  const std::vector<Raster::Pixel>& pixels =
      theme == Theme::kDark && !raster.dark_pixels.empty() ? raster.dark_pixels
                                                           : raster.pixels;
  Surface surface(cairo_image_surface_create(CAIRO_FORMAT_ARGB32,
                                             raster.columns, raster.rows));
  cairo_surface_flush(surface.get());
  unsigned char* data = cairo_image_surface_get_data(surface.get());
  const int stride = cairo_image_surface_get_stride(surface.get());
  for (int row = 0; data != nullptr && row < raster.rows; ++row) {
    for (int column = 0; column < raster.columns; ++column) {
      const Raster::Pixel& pixel =
          pixels[static_cast<size_t>(row) * raster.columns + column];
      const uint32_t value =
          pixel.hidden ? 0
                       : 0xff000000u | pixel.color.red << 16 |
                             pixel.color.green << 8 | pixel.color.blue;
      std::memcpy(
          data + static_cast<ptrdiff_t>(row) * stride + ptrdiff_t{4} * column,
          &value, sizeof(value));
    }
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

// Draws the shapes of a scene on a cairo context.
class Painter {
 public:
  Painter(cairo_t* cairo, Theme theme) : cairo_(cairo), theme_(theme) {}

  void Add(const Rect& rect) {
    cairo_rectangle(cairo_, rect.corner.x, rect.corner.y, rect.width,
                    rect.height);
    Draw(rect.style);
  }

  void Add(const Path& path) {
    for (const Point& point : path.points) {
      cairo_line_to(cairo_, point.x, point.y);
    }
    if (path.closed) cairo_close_path(cairo_);
    Draw(path.style);
  }

  void Add(const Circle& circle) {
    cairo_new_sub_path(cairo_);
    cairo_arc(cairo_, circle.center.x, circle.center.y, circle.radius, 0,
              2 * std::numbers::pi);
    Draw(circle.style);
  }

  void Add(const Text& text) {
    if (!Use(text.color, 1)) return;
    const Layout layout(pango_cairo_create_layout(cairo_));
    const Font font(pango_font_description_new());
    pango_font_description_set_family(font.get(), "DejaVu Sans, sans-serif");
    pango_font_description_set_absolute_size(font.get(),
                                             text.size * PANGO_SCALE);
    if (text.bold) {
      pango_font_description_set_weight(font.get(), PANGO_WEIGHT_BOLD);
    }
    pango_layout_set_font_description(layout.get(), font.get());
    pango_layout_set_single_paragraph_mode(layout.get(), true);
    // Pango writes warnings to standard error if text is not valid UTF-8.
    const std::unique_ptr<char, Deleter<g_free>> valid(
        g_utf8_make_valid(text.text.data(), text.text.size()));
    pango_layout_set_text(layout.get(), valid.get(), -1);
    int width = 0;
    pango_layout_get_size(layout.get(), &width, nullptr);
    const double anchored = text.anchor == Anchor::kStart    ? 0
                            : text.anchor == Anchor::kMiddle ? 0.5
                                                             : 1;
    cairo_save(cairo_);
    cairo_translate(cairo_, text.at.x, text.at.y);
    cairo_rotate(cairo_, text.degrees * std::numbers::pi / 180);
    cairo_move_to(
        cairo_, -anchored * width / PANGO_SCALE,
        -static_cast<double>(pango_layout_get_baseline(layout.get())) /
            PANGO_SCALE);
    pango_cairo_show_layout(cairo_, layout.get());
    cairo_restore(cairo_);
    cairo_new_path(cairo_);
  }

  void Add(const Image& image) {
    const Surface surface = MakeSurface(image.raster, theme_);
    cairo_save(cairo_);
    cairo_translate(cairo_, image.corner.x, image.corner.y);
    cairo_scale(cairo_, image.width / image.raster.columns,
                image.height / image.raster.rows);
    cairo_set_source_surface(cairo_, surface.get(), 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cairo_), CAIRO_FILTER_NEAREST);
    cairo_pattern_set_extend(cairo_get_source(cairo_), CAIRO_EXTEND_PAD);
    cairo_rectangle(cairo_, 0, 0, image.raster.columns, image.raster.rows);
    cairo_fill(cairo_);
    cairo_restore(cairo_);
  }

 private:
  // Sets the colour. Returns false if it is empty.
  bool Use(const Color& color, double opacity) {
    if (std::holds_alternative<std::monostate>(color)) return false;
    const Rgb rgb = Resolve(color);
    cairo_set_source_rgba(cairo_, rgb.red / 255.0, rgb.green / 255.0,
                          rgb.blue / 255.0, opacity);
    return true;
  }

  // The colour in the theme of the picture; it must not be empty.
  Rgb Resolve(const Color& color) const {
    if (const Role* role = std::get_if<Role>(&color)) {
      return ColorOf(*role, theme_);
    }
    if (const ThemedRgb* themed = std::get_if<ThemedRgb>(&color)) {
      return theme_ == Theme::kDark ? themed->dark : themed->light;
    }
    return std::get<Rgb>(color);
  }

  // Fills and strokes the current path, then clears it.
  void Draw(const Style& style) {
    if (Use(style.fill, style.opacity)) cairo_fill_preserve(cairo_);
    if (Use(style.stroke, style.opacity)) {
      cairo_set_line_width(cairo_, style.stroke_width);
      cairo_set_line_join(cairo_, CAIRO_LINE_JOIN_ROUND);
      cairo_set_dash(cairo_, style.dashes.data(), DashCount(style.dashes), 0);
      cairo_stroke_preserve(cairo_);
    }
    cairo_new_path(cairo_);
  }

  cairo_t* const cairo_;
  const Theme theme_;
};

}  // namespace

std::string EncodePng(const Raster& raster, Theme theme) {
  return Encoded(MakeSurface(raster, theme).get());
}

absl::StatusOr<std::string> WritePng(const Scene& scene, Theme theme,
                                     double pixels_per_unit) {
  const Surface surface(cairo_image_surface_create(
      CAIRO_FORMAT_ARGB32,
      static_cast<int>(std::ceil(scene.width * pixels_per_unit)),
      static_cast<int>(std::ceil(scene.height * pixels_per_unit))));
  if (cairo_surface_status(surface.get()) != CAIRO_STATUS_SUCCESS) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot draw ", scene.width, " by ", scene.height, ": ",
        cairo_status_to_string(cairo_surface_status(surface.get()))));
  }
  const Context cairo(cairo_create(surface.get()));
  cairo_scale(cairo.get(), pixels_per_unit, pixels_per_unit);
  Painter painter(cairo.get(), theme);
  painter.Add(Rect{.width = scene.width,
                   .height = scene.height,
                   .style = {.fill = Role::kPaper}});
  for (const Shape& shape : scene.shapes) {
    std::visit([&painter](const auto& each) { painter.Add(each); }, shape);
  }
  std::string png = Encoded(surface.get());
  if (!scene.provenance.command.empty()) {
    AddPngText("Source", scene.provenance.command, png);
    AddPngText("Software", scene.provenance.software, png);
  }
  return png;
}

}  // namespace locus::client::plot
