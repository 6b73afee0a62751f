// Texts of the lab about the ordering task.
#pragma once

#include "client/cli/labs/lab.h"

namespace locus::client::ordering_text {

inline constexpr Text kTitle = {
    "is a sequence sorted? trained at 4 tokens, tested at 4 to 8",
    "¿secuencia ordenada? entrenado con 4 palabras, probado con 4 a 8"};
inline constexpr Text kSummary = {
    "Trains small transformers with several schemes to tell sorted from "
    "unsorted sequences at length 4, and tests them at 4, 5, 6 and 8.",
    "Entrena pequeños transformers con varios esquemas para distinguir "
    "secuencias ordenadas de desordenadas con longitud 4, y los prueba con 4, "
    "5, 6 y 8."};

inline constexpr Text kHeading = {"Accuracy", "Exactitud"};
inline constexpr Text kSay = {
    "The input is a sequence of numbers and a query token, which the length "
    "includes. The model answers whether the numbers ascend. Half of the test "
    "sequences are sorted, so guessing gives 0.5. $0 seed(s) from seed $1; ± "
    "is "
    "half of a 95 % interval over the seeds.",
    "La entrada es una secuencia de números y una palabra de consulta, que "
    "cuenta en la longitud. El modelo responde si los números ascienden. La "
    "mitad de las secuencias de prueba están ordenadas, así que adivinar da "
    "0.5. $0 semilla(s) desde la semilla $1; ± es la mitad de un intervalo del "
    "95 % entre semillas."};
inline constexpr Text kLengths = {
    "Balanced accuracy by number of tokens (trained at $0)",
    "Exactitud equilibrada según el número de palabras (entrenado con $0)"};

inline constexpr Text kNoneClaim = {
    "Without positions the model cannot learn the task: $0 at length $1.",
    "Sin posiciones el modelo no puede aprender la tarea: $0 con longitud $1."};
inline constexpr Text kLearnedClaim = {
    "With positions every scheme learns the task in range (at least 0.85): $0.",
    "Con posiciones todos los esquemas aprenden la tarea en rango (al menos "
    "0.85): $0."};
inline constexpr Text kVerdictClaim = {
    "The verdict names no winner at chance level, and none from one seed "
    "(winner: $0).",
    "El veredicto no nombra ganador al nivel del azar, ni con una sola semilla "
    "(ganador: $0)."};
inline constexpr Text kNobody = {"none", "ninguno"};

inline constexpr Text kVerdictHeading = {"Verdict", "Veredicto"};
inline constexpr Text kOneSeed = {
    "One seed gives no interval, so this is an example and not a result. Run "
    "with --seeds 3 or more.",
    "Una sola semilla no da intervalo: esto es un ejemplo, no un resultado. "
    "Ejecute con --seeds 3 o más."};
inline constexpr Text kBeatsChance = {
    "At length $0, better than chance with 95 % confidence: $1.",
    "Con longitud $0, mejores que el azar con un 95 % de confianza: $1."};
inline constexpr Text kNoneBeatsChance = {
    "At length $0, no scheme is better than chance with 95 % confidence.",
    "Con longitud $0, ningún esquema es mejor que el azar con un 95 % de "
    "confianza."};
inline constexpr Text kWinner = {
    "Winner at length $0: $1, and its lead over the second is certain.",
    "Ganador con longitud $0: $1, y su ventaja sobre el segundo es segura."};
inline constexpr Text kNoWinner = {
    "There is no winner at length $0: no scheme is both better than chance and "
    "ahead of the second with certainty.",
    "No hay ganador con longitud $0: ningún esquema es a la vez mejor que el "
    "azar y claramente superior al segundo."};

inline constexpr Text kFigureTitle = {
    "Ordering task, trained at $0 tokens",
    "Tarea de ordenación, entrenada con $0 palabras"};
inline constexpr Text kFigureX = {"tokens", "palabras"};
inline constexpr Text kFigureY = {"balanced accuracy", "exactitud equilibrada"};
inline constexpr Text kFigure = {
    "Accuracy over the length, with 95 % intervals and the chance level.",
    "Exactitud según la longitud, con intervalos del 95 % y el nivel del "
    "azar."};

inline constexpr Text kRead = {
    "In range, the schemes with positions reach $0 on average, and the model "
    "without positions stays at $1: it sees a set of numbers, and a set has no "
    "order. One token past the training length they reach $2, and at length $3 "
    "$4.",
    "En rango, los esquemas con posiciones llegan a $0 de media, y el modelo "
    "sin posiciones se queda en $1: ve un conjunto de números, y un conjunto "
    "no "
    "tiene orden. Una palabra más allá de la longitud de entrenamiento llegan "
    "a "
    "$2, y con longitud $3 a $4."};
inline constexpr Text kReadLimits = {
    "All schemes lose accuracy with every further token. That a position has a "
    "code does not mean that the model has learned to compare it; the values "
    "near 0.5 at the longest length are chance, whatever their order.",
    "Todos los esquemas pierden exactitud con cada palabra más. Que una "
    "posición tenga código no significa que el modelo haya aprendido a "
    "compararla; los valores cercanos a 0.5 en la longitud mayor son azar, sea "
    "cual sea su orden."};

inline constexpr Question kQuestions[] = {
    {{"Why can a model without positions not do better than 0.5, even with "
      "more "
      "layers?",
      "¿Por qué no puede un modelo sin posiciones superar 0.5, ni con más "
      "capas?"},
     {"The model is bidirectional here, and attention without positions is "
      "equivariant to permutations: the sorted and the shuffled sequence give "
      "the same answer. See the equivariance lab.",
      "Aquí el modelo es bidireccional, y la atención sin posiciones es "
      "equivariante a permutaciones: la secuencia ordenada y la desordenada "
      "dan "
      "la misma respuesta. Véase el laboratorio equivariance."}},
    {{"Why do learned tables fall to chance past the training length?",
      "¿Por qué caen al azar las tablas aprendidas más allá de la longitud de "
      "entrenamiento?"},
     {"Their rows past the training length were never trained; the evaluation "
      "repeats the last row there (policy CLAMP), so these positions cannot be "
      "told apart.",
      "Sus filas más allá de la longitud de entrenamiento nunca se entrenaron; "
      "la evaluación repite ahí la última fila (política CLAMP), así que esas "
      "posiciones no se distinguen."}},
    {{"How many seeds are needed to tell two schemes apart?",
      "¿Cuántas semillas hacen falta para distinguir dos esquemas?"},
     {"As many as make the interval of the paired difference exclude zero. "
      "Look "
      "at the ± column: where it is as large as the difference, more seeds are "
      "needed.",
      "Las que hagan que el intervalo de la diferencia pareada excluya el "
      "cero. "
      "Mire la columna ±: si es tan grande como la diferencia, hacen falta más "
      "semillas."}}};

}  // namespace locus::client::ordering_text
