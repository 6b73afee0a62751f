// Texts of the lab about extrapolation.
#pragma once

#include "client/cli/labs/lab.h"

namespace locus::client::extrapolation_text {

inline constexpr Text kTitle = {
    "past the training length: patterns and a trained race",
    "más allá del entrenamiento: patrones y carrera entrenada"};
inline constexpr Text kSummary = {
    "Compares the attention patterns of one untrained layer from 64 to 256 "
    "tokens, trains small models at 32 tokens and tests them up to 256, and "
    "gives a recommendation with its evidence and limits.",
    "Compara los patrones de atención de una capa sin entrenar de 64 a 256 "
    "palabras, entrena modelos pequeños con 32 y los prueba hasta 256, y da "
    "una "
    "recomendación con su evidencia y sus límites."};

inline constexpr Text kPatternHeading = {"Patterns of an untrained layer",
                                         "Patrones de una capa sin entrenar"};
inline constexpr Text kPatternSay = {
    "One layer of width $0 with $1 heads and random weights, seed $2, built "
    "for "
    "64 tokens. The learned table has 64 rows, and later positions take the "
    "last row. Nothing is trained, so no scheme wins here: the numbers "
    "describe "
    "how the pattern changes.",
    "Una capa de anchura $0 con $1 cabezas y pesos aleatorios, semilla $2, "
    "hecha "
    "para 64 palabras. La tabla aprendida tiene 64 filas, y las posiciones "
    "posteriores toman la última. No se entrena nada, así que aquí no gana "
    "ningún esquema: los números describen cómo cambia el patrón."};
inline constexpr Text kEntropy = {
    "Entropy of the attention, as a share of its maximum (1: uniform)",
    "Entropía de la atención, como fracción de su máximo (1: uniforme)"};
inline constexpr Text kDistance = {
    "Mean distance of a query to the keys it attends to, in tokens",
    "Distancia media de una consulta a las claves que atiende, en palabras"};
inline constexpr Text kClampClaim = {
    "The clamped table cannot tell positions 64 to 255 apart: their codes "
    "differ from that of position 63 by $0.",
    "La tabla recortada no distingue las posiciones 64 a 255: sus códigos "
    "difieren del de la posición 63 en $0."};
inline constexpr Text kSinusoidalClaim = {
    "The sinusoidal codes of these positions all differ: the two nearest are "
    "$0 apart.",
    "Los códigos sinusoidales de esas posiciones son todos distintos: los dos "
    "más próximos distan $0."};

inline constexpr Text kRaceHeading = {"The trained race",
                                      "La carrera entrenada"};
inline constexpr Text kRaceSay = {
    "Small transformers learn to predict the next byte of a text at $0 tokens, "
    "$1 seed(s) from seed $2. The table has the loss in nats per byte, lower "
    "is "
    "better; a uniform guess has ln 256 = 5.545. ± is half of a 95 % interval "
    "over the seeds.",
    "Pequeños transformers aprenden a predecir el byte siguiente de un texto "
    "con $0 palabras, $1 semilla(s) desde la semilla $2. La tabla da la "
    "pérdida "
    "en nats por byte, cuanto menor mejor; adivinar de modo uniforme da ln 256 "
    "= 5.545. ± es la mitad de un intervalo del 95 % entre semillas."};
inline constexpr Text kInRangeClaim = {
    "In range every model predicts better than a uniform guess (5.545): the "
    "worst is $0.",
    "En rango, todos los modelos predicen mejor que al azar (5.545): el peor "
    "es $0."};
inline constexpr Text kLearnedClaim = {
    "Past the training length the learned table gets worse: from $0 to $1 at "
    "$2 tokens.",
    "Más allá de la longitud de entrenamiento la tabla aprendida empeora: de "
    "$0 "
    "a $1 con $2 palabras."};
inline constexpr Text kVerdictClaim = {
    "The verdict names no winner from one seed, and no other than the scheme "
    "with the lowest loss (winner: $0).",
    "El veredicto no nombra ganador con una sola semilla, ni otro que el "
    "esquema de menor pérdida (ganador: $0)."};
inline constexpr Text kNobody = {"none", "ninguno"};

inline constexpr Text kRecommendHeading = {"Recommendation", "Recomendación"};
inline constexpr Text kRecommendWinner = {
    "Recommended for longer inputs than in training: $0. Evidence: at $1 "
    "tokens "
    "its loss is $2, against $3 in range, and its lead over the second, $4 "
    "with "
    "$5, is certain over the seeds.",
    "Recomendado para entradas más largas que en el entrenamiento: $0. "
    "Evidencia: con $1 palabras su pérdida es $2, frente a $3 en rango, y su "
    "ventaja sobre el segundo, $4 con $5, es segura entre semillas."};
inline constexpr Text kRecommendNobody = {
    "No scheme can be recommended from this run. The lowest loss at $1 tokens "
    "is that of $0, $2 against $3 in range, but its lead over the second, $4 "
    "with $5, is not certain. Run more seeds.",
    "De esta ejecución no se puede recomendar ningún esquema. La menor pérdida "
    "con $1 palabras es la de $0, $2 frente a $3 en rango, pero su ventaja "
    "sobre el segundo, $4 con $5, no es segura. Ejecute más semillas."};
inline constexpr Text kLimits = {
    "Limits: models of two layers and width 64, one text, lengths up to $0, "
    "and "
    "the loss only. A task that needs distant tokens can rank schemes "
    "differently, and RoPE with a scaling (`locus evaluate --task retrofit`) "
    "was not tested here.",
    "Límites: modelos de dos capas y anchura 64, un solo texto, longitudes "
    "hasta $0 y solo la pérdida. Una tarea que necesite palabras lejanas puede "
    "ordenar los esquemas de otro modo, y RoPE con escalado (`locus evaluate "
    "--task retrofit`) no se ha probado aquí."};

inline constexpr Text kRaceFigureTitle = {
    "Loss over the length, trained at $0 tokens",
    "Pérdida según la longitud, entrenado con $0 palabras"};
inline constexpr Text kRaceFigure = {
    "Loss of the trained models over the length, with 95 % intervals.",
    "Pérdida de los modelos entrenados según la longitud, con intervalos del "
    "95 %."};
inline constexpr Text kPatternFigureTitle = {
    "Entropy of an untrained layer over the length",
    "Entropía de una capa sin entrenar según la longitud"};
inline constexpr Text kPatternFigure = {
    "Entropy of the attention over the length, without training.",
    "Entropía de la atención según la longitud, sin entrenar."};
inline constexpr Text kTokens = {"tokens", "palabras"};
inline constexpr Text kNats = {"nats per byte", "nats por byte"};
inline constexpr Text kShare = {"share of the maximum", "fracción del máximo"};

inline constexpr Text kRead = {
    "The pattern comparison shows what a scheme can express at unseen lengths: "
    "the clamped table gives all later positions one code, so only the content "
    "tells their tokens apart. The race shows what models make of it. Both are "
    "needed: that a code exists does not mean that a model can use it.",
    "La comparación de patrones muestra lo que un esquema puede expresar en "
    "longitudes no vistas: la tabla recortada da un solo código a todas las "
    "posiciones posteriores, y solo el contenido distingue sus palabras. La "
    "carrera muestra lo que los modelos hacen con ello. Hacen falta ambas: que "
    "exista un código no significa que un modelo sepa usarlo."};

inline constexpr Question kQuestions[] = {
    {{"Why is there no winner in the pattern comparison?",
      "¿Por qué no hay ganador en la comparación de patrones?"},
     {"Nothing was trained, so nothing was learned or lost. A steady pattern "
      "may be steady because the positions hardly act.",
      "No se entrenó nada, de modo que nada se aprendió ni se perdió. Un "
      "patrón "
      "puede ser estable porque las posiciones apenas actúan."}},
    {{"Would a longer table save the learned scheme?",
      "¿Salvaría una tabla más larga al esquema aprendido?"},
     {"Only if its rows are trained: rows past the training length keep their "
      "random start values.",
      "Solo si se entrenan sus filas: las filas más allá de la longitud de "
      "entrenamiento conservan sus valores aleatorios iniciales."}},
    {{"Which experiment would change your recommendation?",
      "¿Qué experimento cambiaría su recomendación?"},
     {"A task that needs a distant token, such as recall, at the same lengths: "
      "a scheme with a low loss may simply ignore distant text.",
      "Una tarea que necesite una palabra lejana, como recall, con las mismas "
      "longitudes: un esquema de pérdida baja puede estar ignorando el texto "
      "lejano."}}};

}  // namespace locus::client::extrapolation_text
