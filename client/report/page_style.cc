#include "client/report/page_style.h"

#include "absl/strings/str_cat.h"
#include "client/plot/theme.h"

namespace locus::client {
namespace {

using plot::ColorOf;
using plot::HexColor;
using plot::Role;
using plot::Theme;

// Returns the colours of the charts as CSS variables, for use by the page.
std::string Variables(Theme theme) {
  return absl::StrCat("--paper:", HexColor(ColorOf(Role::kPaper, theme)),
                      ";--ink:", HexColor(ColorOf(Role::kInk, theme)),
                      ";--quiet:", HexColor(ColorOf(Role::kQuiet, theme)),
                      ";--line:", HexColor(ColorOf(Role::kGrid, theme)),
                      ";--accent:", HexColor(ColorOf(Role::kSeries, theme)),
                      ";--bad:", HexColor(ColorOf(plot::SeriesRole(9), theme)),
                      ";--shade:", HexColor(ColorOf(Role::kGrid, theme)), "80",
                      ";--edge:", HexColor(ColorOf(Role::kQuiet, theme)), "55");
}

// Returns classes `lb-N` with the colour of role N as the background.
std::string Backgrounds(Theme theme) {
  std::string css;
  for (int i = 0; i < plot::kSeriesCount; ++i) {
    const Role role = plot::SeriesRole(i);
    absl::StrAppend(&css, ".lb-", static_cast<int>(role),
                    "{background:", HexColor(ColorOf(role, theme)), "}");
  }
  return css;
}

constexpr char kRules[] = R"(
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 $FONT}
main{max-width:860px;margin:0 auto;padding:2rem 1rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:.1rem 0 .6rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2.2rem 0 .4rem}
.kicker,.facts,.note,figcaption span{color:var(--quiet);font-size:.85rem}
.kicker{margin:0}
.question{font-size:1.05rem;max-width:42rem}
.note{margin:.2rem 0 .6rem;max-width:46rem}
.command{display:flex;gap:.6rem;align-items:flex-start;background:var(--shade);border-radius:4px;padding:.5rem .7rem;margin:1rem 0}
.command code{flex:1;overflow-wrap:anywhere;white-space:pre-wrap}
code,pre{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:.82rem;line-height:1.45}
.verdict{border-left:4px solid var(--accent);padding:.2rem 0 .2rem 1rem;margin:1.4rem 0}
.verdict p,.meaning p{margin:.3rem 0;max-width:46rem;overflow-wrap:anywhere}
.meaning{font-size:.95rem}
.winner{font-size:1.35rem;font-weight:600}
.partial,.failed{color:var(--bad)}
figure{margin:1.6rem 0;border-top:1px solid var(--line);padding-top:.6rem}
figcaption{margin-bottom:.3rem}
figcaption span{display:block;max-width:46rem}
figure svg{display:block;height:auto}
.plot svg{width:100%;max-width:640px}
.js .plot svg{max-width:none}
.plot svg:focus-visible{outline:2px solid var(--accent)}
.canvas{position:relative}
.maps svg{width:100%;min-width:34rem}
.tip{display:none;position:absolute;top:2rem;max-width:100%;padding:.35rem .55rem;background:var(--paper);border:1px solid var(--quiet);border-radius:4px;font-size:.8rem;line-height:1.45;pointer-events:none;z-index:1}
.tip b{font-weight:600}
.tip i,.key{display:inline-block;width:.7em;height:.7em;border-radius:2px;margin-right:.4em}
.legend,.tools{display:flex;flex-wrap:wrap;gap:.3rem .5rem;margin:.3rem 0;font-size:.85rem}
.legend svg{width:28px;height:16px;flex:none}
button{font:inherit;color:inherit;background:none;border:1px solid transparent;border-radius:4px;padding:.1rem .45rem}
.legend button{display:inline-flex;align-items:center;gap:.3rem;max-width:100%;overflow-wrap:anywhere;text-align:left}
button:enabled{cursor:pointer;border-color:var(--line)}
button:enabled:hover{border-color:var(--quiet)}
.legend button[aria-pressed=false]{opacity:.45;text-decoration:line-through}
.tools button{color:var(--quiet);font-size:.8rem}
.tools button[aria-pressed=true]{color:var(--paper);background:var(--quiet)}
.gap{flex:1}
.multiples{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:0 1.2rem}
.multiples figure{margin:.6rem 0;min-width:0}
.bar{width:100%;height:1.6rem;margin:.2rem 0}
.keys{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;font-size:.85rem;margin:.2rem 0 1rem;padding:0;list-style:none}
.scroll{overflow-x:auto;background:linear-gradient(90deg,var(--paper) 30%,transparent) left/2.5rem 100% no-repeat local,linear-gradient(270deg,var(--paper) 30%,transparent) right/2.5rem 100% no-repeat local,linear-gradient(90deg,var(--edge),transparent) left/.8rem 100% no-repeat scroll,linear-gradient(270deg,var(--edge),transparent) right/.8rem 100% no-repeat scroll}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .6rem;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
thead th{color:var(--quiet);font-weight:500;font-size:.82rem}
.js .sort thead th{cursor:pointer}
th[aria-sort=ascending]::after{content:" \2191"}
th[aria-sort=descending]::after{content:" \2193"}
tbody th{font-weight:500}
th.n,.n{text-align:right;white-space:nowrap}
small{color:var(--quiet);font-size:.8em}
details{margin:1rem 0;border-top:1px solid var(--line);padding-top:.6rem}
summary{cursor:pointer;font-weight:600}
pre{overflow-x:auto}
a{color:var(--accent);overflow-wrap:anywhere}
@media (max-width:40rem){main{padding:1rem .8rem 3rem}th,td{padding:.3rem .4rem}table{font-size:.85rem}td.n small{display:block;white-space:normal}.winner{font-size:1.2rem}}
@media print{main{max-width:none;padding:0}figure,tr,.verdict{break-inside:avoid}.tools,.tip,.command button{display:none!important}.scroll{overflow:visible;background:none}.maps svg{min-width:0}.plot svg{max-width:100%}a{color:inherit}.keys,.bar,.key{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)";

}  // namespace

std::string PageStyle() {
  std::string rules = kRules;
  const size_t at = rules.find("$FONT");
  rules.replace(at, 5, plot::kFontStack);
  const auto colors = [](Theme theme) {
    return absl::StrCat(":root{", Variables(theme), "}", Backgrounds(theme));
  };
  return absl::StrCat(
      colors(Theme::kLight), "@media (prefers-color-scheme: dark){",
      colors(Theme::kDark), "}", rules, plot::RoleStyles(Theme::kAuto),
      // Pages are printed on white paper, whatever the theme of the screen.
      "@media print{", colors(Theme::kLight), plot::RoleStyles(Theme::kLight),
      "}");
}

}  // namespace locus::client
