// Texts of the lab about ALiBi.
#pragma once

#include "client/cli/labs/lab.h"

namespace locus::client::alibi_text {

inline constexpr Text kTitle = {
    "linear biases: slopes, geometric series and patterns",
    "sesgos lineales: pendientes, serie geométrica y patrones"};
inline constexpr Text kSummary = {
    "Compares the slopes of the paper's and of the course's rule, checks that "
    "they are a geometric series, and draws the bias of every head.",
    "Compara las pendientes de la regla del artículo y de la del curso, "
    "comprueba que forman una serie geométrica y dibuja el sesgo de cada "
    "cabeza."};

inline constexpr Text kSlopesHeading = {"Slopes of 8 heads",
                                        "Pendientes de 8 cabezas"};
inline constexpr Text kSlopesSay = {
    "ALiBi subtracts m |i - j| from the score of query i and key j. The rule "
    "of "
    "the paper for n heads, n a power of two, is m_h = 2^(-8 h / n); the rule "
    "of the course is m_h = 2^(-h), for h = 1, ..., n.",
    "ALiBi resta m |i - j| de la puntuación de la consulta i y la clave j. La "
    "regla del artículo para n cabezas, con n potencia de dos, es m_h = 2^(-8 "
    "h "
    "/ n); la del curso es m_h = 2^(-h), para h = 1, ..., n."};
inline constexpr Text kColumns = {
    "head|paper|course|weight halves every",
    "cabeza|artículo|curso|el peso se reduce a la mitad cada"};
inline constexpr Text kDistance = {"$0 positions", "$0 posiciones"};
inline constexpr Text kEqualClaim = {
    "For 8 heads the two rules agree (largest difference $0).",
    "Para 8 cabezas las dos reglas coinciden (mayor diferencia $0)."};
inline constexpr Text kOnlyEightClaim = {
    "From 1 to 16 heads, the rules agree for: $0.",
    "De 1 a 16 cabezas, las reglas coinciden para: $0."};
inline constexpr Text kGeometricClaim = {
    "The 8 slopes are a geometric series: every ratio is $0, up to $1.",
    "Las 8 pendientes forman una serie geométrica: cada cociente es $0, salvo "
    "$1."};

inline constexpr Text kOddHeading = {"The odd case: 12 heads",
                                     "El caso raro: 12 cabezas"};
inline constexpr Text kOddSay = {
    "12 is no power of two. The paper takes the 8 slopes of 8 heads, and every "
    "second slope of 16 heads for the other four:",
    "12 no es potencia de dos. El artículo toma las 8 pendientes de 8 cabezas, "
    "y una de cada dos pendientes de 16 cabezas para las otras cuatro:"};
inline constexpr Text kOddClaim = {
    "The 12 slopes are not one geometric series: ratios range from $0 to $1.",
    "Las 12 pendientes no forman una sola serie geométrica: los cocientes van "
    "de $0 a $1."};
inline constexpr Text kFirstEightClaim = {
    "The first 8 of them are the slopes of 8 heads (largest difference $0).",
    "Las 8 primeras son las pendientes de 8 cabezas (mayor diferencia $0)."};

inline constexpr Text kBiasHeading = {"The bias", "El sesgo"};
inline constexpr Text kBiasSay = {
    "Bias of the first and of the last head, causal, $0 tokens (rows are "
    "queries, columns are keys; later keys are masked):",
    "Sesgo de la primera y de la última cabeza, causal, $0 palabras (las filas "
    "son consultas, las columnas claves; las claves posteriores están "
    "ocultas):"};
inline constexpr Text kHead = {"head $0, m = $1", "cabeza $0, m = $1"};
inline constexpr Text kBiasClaim = {
    "In all 8 heads the bias is -m (i - j), up to $0.",
    "En las 8 cabezas el sesgo es -m (i - j), salvo $0."};

inline constexpr Text kFigure = {
    "The bias of each of the 8 heads, with its slope.",
    "El sesgo de cada una de las 8 cabezas, con su pendiente."};
inline constexpr Text kFigure12 = {"The bias of each of 12 heads.",
                                   "El sesgo de cada una de 12 cabezas."};

inline constexpr Text kRead = {
    "Head 1 looks at its neighbours: its weight halves every $0 positions. The "
    "last head looks far: every $1 positions. The bias needs no table and no "
    "training, and is defined at every distance. The two rules agree only for "
    "8 heads, so a model with another number of heads has other slopes than "
    "the course's formula says.",
    "La cabeza 1 mira a sus vecinos: su peso se reduce a la mitad cada $0 "
    "posiciones. La última mira lejos: cada $1 posiciones. El sesgo no "
    "necesita "
    "tabla ni entrenamiento y está definido a cualquier distancia. Las dos "
    "reglas coinciden solo para 8 cabezas, de modo que un modelo con otro "
    "número de cabezas tiene otras pendientes que las de la fórmula del "
    "curso."};

inline constexpr Question kQuestions[] = {
    {{"Why does ALiBi have several slopes instead of one?",
      "¿Por qué tiene ALiBi varias pendientes y no una sola?"},
     {"A steep head sees only its neighbourhood, a flat one the whole text. "
      "With a geometric series the heads cover all ranges evenly on a "
      "logarithmic scale.",
      "Una cabeza empinada ve solo su entorno; una plana, todo el texto. Con "
      "una serie geométrica las cabezas cubren todos los alcances por igual en "
      "escala logarítmica."}},
    {{"ALiBi extrapolates well in perplexity. Does it use the distant text?",
      "ALiBi extrapola bien en perplejidad. ¿Usa el texto lejano?"},
     {"Mostly not: the penalty hides it, and the model works as if its window "
      "were fixed. Tasks that need a distant token show this, such as `locus "
      "evaluate --task recall`.",
      "En general no: la penalización lo oculta, y el modelo funciona como si "
      "su ventana fuera fija. Lo muestran las tareas que necesitan una palabra "
      "lejana, como `locus evaluate --task recall`."}},
    {{"What does the symmetric form do for a bidirectional model?",
      "¿Qué hace la forma simétrica en un modelo bidireccional?"},
     {"It penalises both sides alike, so that one head cannot tell before from "
      "after. Order must then come from elsewhere.",
      "Penaliza por igual ambos lados, así que una cabeza no distingue antes "
      "de "
      "después. El orden debe venir entonces de otra parte."}}};

}  // namespace locus::client::alibi_text
