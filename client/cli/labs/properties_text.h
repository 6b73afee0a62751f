// Texts of the lab about the desirable properties.
#pragma once

#include "client/cli/labs/lab.h"

namespace locus::client::properties_text {

inline constexpr Text kTitle = {
    "six desirable properties, measured for every scheme",
    "seis propiedades deseables, medidas para cada esquema"};
inline constexpr Text kSummary = {
    "Measures whether codes are unique, bounded, deterministic, smooth, "
    "defined "
    "for unseen lengths and aware of relative positions, for every scheme and "
    "for integer, normalised and one-hot positions.",
    "Mide si los códigos son únicos, acotados, deterministas, suaves, "
    "definidos "
    "para longitudes no vistas y sensibles a la posición relativa, para cada "
    "esquema y para posiciones enteras, normalizadas y one-hot."};

inline constexpr Text kHeading = {"The matrix", "La matriz"};
inline constexpr Text kSay = {
    "yes: the measurement confirms the property; no: it refutes it; -: the "
    "property is not defined, because there is no code.",
    "sí: la medida confirma la propiedad; no: la refuta; -: la propiedad no "
    "está definida, porque no hay código."};
inline constexpr Text kColumns = {
    "scheme|unique|bounded|determ.|lengths|smooth|relative",
    "esquema|único|acotado|determ.|longit.|suave|relativo"};
inline constexpr Text kYesWord = {"yes", "sí"};
inline constexpr Text kLegend = {
    "lengths: positions of any length have a code of their own "
    "(open_endedness) "
    "that does not depend on the length (length_independence). relative: "
    "attention weights do not change if all positions are shifted "
    "(shift_invariance), or a shift is a linear map of the code "
    "(linear_shift).",
    "longit.: las posiciones de cualquier longitud tienen un código propio "
    "(open_endedness) que no depende de la longitud (length_independence). "
    "relativo: los pesos de atención no cambian si se desplazan todas las "
    "posiciones (shift_invariance), o un desplazamiento es una aplicación "
    "lineal del código (linear_shift)."};

inline constexpr Text kPromisedClaim = {
    "All $0 measurements agree with what the schemes declare; $1 do not.",
    "Las $0 medidas coinciden con lo que declaran los esquemas; $1 no."};
inline constexpr Text kSinusoidalClaim = {
    "The sinusoidal code has all six properties.",
    "El código sinusoidal tiene las seis propiedades."};
inline constexpr Text kIntegerClaim = {
    "Integer positions are not bounded: the code grows by a factor of $0.",
    "Las posiciones enteras no están acotadas: el código crece por un factor "
    "de "
    "$0."};
inline constexpr Text kNormalisedClaim = {
    "Normalised positions depend on the length: the code of a position changes "
    "by $0 of the largest value.",
    "Las posiciones normalizadas dependen de la longitud: el código de una "
    "posición cambia en $0 del valor máximo."};
inline constexpr Text kOneHotClaim = {
    "One-hot positions are not smooth (ratio $0, at most 0.5 allowed) and end "
    "at the width: they fail at $1 of 10 lengths.",
    "Las posiciones one-hot no son suaves (cociente $0, se admite 0.5) y "
    "terminan en la anchura: fallan en $1 de 10 longitudes."};

inline constexpr Text kCasesHeading = {"How it was measured",
                                       "Cómo se ha medido"};
inline constexpr Text kCasesSay = {
    "The worked cases of sinusoidal, in the words of the service (in English; "
    "`locus check --details` prints those of all schemes):",
    "Los casos de sinusoidal, con las palabras del servicio (en inglés; `locus "
    "check --details` imprime los de todos los esquemas):"};

inline constexpr Text kFigureTitle = {"Six desirable properties, measured",
                                      "Seis propiedades deseables, medidas"};
inline constexpr Text kFigureColumns = {
    "unique|bounded|deterministic|any length|smooth|relative",
    "único|acotado|determinista|toda longitud|suave|relativo"};
inline constexpr Text kFigure = {
    "A filled cell: the measurement confirms the property. A dash: there is no "
    "code.",
    "Celda llena: la medida confirma la propiedad. Raya: no hay código."};

inline constexpr Text kRead = {
    "Each naive encoding fails where the course says it does: integers grow "
    "without bound, normalised positions change with the length, and one-hot "
    "positions have no neighbours and a last position. The schemes with all "
    "six "
    "are: $0.",
    "Cada codificación ingenua falla donde dice el curso: los enteros crecen "
    "sin límite, las posiciones normalizadas cambian con la longitud, y las "
    "one-hot no tienen vecinas y sí una última posición. Los esquemas con las "
    "seis son: $0."};
inline constexpr Text kReadLimits = {
    "A yes under lengths says that every length has codes. It does not say "
    "that "
    "a trained model copes with them: sinusoidal codes are defined everywhere, "
    "and models with them still fail past their training length. The "
    "extrapolation lab measures that.",
    "Un sí en longitudes dice que toda longitud tiene códigos. No dice que un "
    "modelo entrenado sepa usarlos: los códigos sinusoidales están definidos "
    "en "
    "todas partes, y aun así los modelos fallan más allá de su longitud de "
    "entrenamiento. Eso lo mide el laboratorio extrapolation."};

inline constexpr Question kQuestions[] = {
    {{"One-hot positions are unique, bounded and deterministic. Why does "
      "nobody "
      "use them?",
      "Las posiciones one-hot son únicas, acotadas y deterministas. ¿Por qué "
      "no "
      "se usan?"},
     {"All pairs of positions are equally far apart, so nothing can be "
      "generalised from one position to its neighbour, and the width limits "
      "the "
      "length.",
      "Todas las posiciones distan lo mismo entre sí, de modo que nada se "
      "puede "
      "generalizar de una posición a su vecina, y la anchura limita la "
      "longitud."}},
    {{"Learned tables fail smoothness here. Do trained tables fail it too?",
      "Las tablas aprendidas no son suaves aquí. ¿Tampoco lo son las "
      "entrenadas?"},
     {"Less so: training moves neighbouring rows towards each other, because "
      "neighbours occur in similar contexts. Measured here are random rows "
      "before training.",
      "Menos: el entrenamiento acerca las filas vecinas, porque aparecen en "
      "contextos parecidos. Aquí se miden filas aleatorias antes de "
      "entrenar."}},
    {{"ALiBi is not bounded. Is that a defect?",
      "ALiBi no está acotado. ¿Es un defecto?"},
     {"No. Its bias is subtracted before the softmax, where a large penalty "
      "only means a weight of zero. For a code that is added to embeddings it "
      "would be one.",
      "No. Su sesgo se resta antes del softmax, donde una penalización grande "
      "solo significa un peso nulo. Para un código que se suma a los vectores "
      "de entrada sí lo sería."}}};

}  // namespace locus::client::properties_text
