// Texts of the lab about sinusoidal codes.
#pragma once

#include "client/cli/labs/lab.h"

namespace locus::client::sinusoidal_text {

inline constexpr Text kTitle = {
    "the sinusoidal table, its dot products and its linear shift",
    "la tabla sinusoidal, productos escalares y desplazamiento lineal"};
inline constexpr Text kSummary = {
    "Draws the sinusoidal table, computes the dot products of the exercise "
    "with "
    "width 4, and shows that a shift by k positions is a linear map.",
    "Dibuja la tabla sinusoidal, calcula los productos escalares del ejercicio "
    "de anchura 4 y muestra que un desplazamiento de k posiciones es una "
    "aplicación lineal."};

inline constexpr Text kTableHeading = {"The table", "La tabla"};
inline constexpr Text kFormula = {
    "PE(p, 2i) = sin(p w_i) and PE(p, 2i + 1) = cos(p w_i), with w_i = "
    "10000^(-2i / d). Here d = $0; the figure shows $1 positions and the first "
    "$2 channels, the cosine of every two codes, and the channels $3.",
    "PE(p, 2i) = sin(p w_i) y PE(p, 2i + 1) = cos(p w_i), con w_i = 10000^(-2i "
    "/ d). Aquí d = $0; la figura muestra $1 posiciones y los primeros $2 "
    "canales, el coseno entre cada dos códigos y los canales $3."};
inline constexpr Text kNormClaim = {
    "The squared norm of every code is d / 2 = $0 (at most $1 off).",
    "El cuadrado de la norma de cada código es d / 2 = $0 (error máximo $1)."};
inline constexpr Text kNearClaim = {
    "Neighbours are more alike than distant positions: the cosine at distance "
    "1 is $0, at distance $1 it is $2.",
    "Las posiciones vecinas se parecen más que las lejanas: el coseno a "
    "distancia 1 es $0, y a distancia $1 es $2."};

inline constexpr Text kDotHeading = {"Dot products, d = 4",
                                     "Productos escalares, d = 4"};
inline constexpr Text kCodes = {"Codes PE(p)", "Códigos PE(p)"};
inline constexpr Text kProducts = {"Dot products", "Productos escalares"};
inline constexpr Text kEqualClaim = {
    "PE(0).PE(1) = $0 and PE(5).PE(6) = $1: both pairs are one position apart.",
    "PE(0).PE(1) = $0 y PE(5).PE(6) = $1: ambos pares distan una posición."};
inline constexpr Text kFarClaim = {
    "PE(0).PE(5) = $0, which is smaller: the pair is five positions apart.",
    "PE(0).PE(5) = $0, que es menor: el par dista cinco posiciones."};
inline constexpr Text kWhy = {
    "Why equal distances agree: PE(p).PE(q) is the sum over i of sin(p w_i) "
    "sin(q w_i) + cos(p w_i) cos(q w_i) = cos((p - q) w_i). Only p - q is "
    "left.",
    "Por qué coinciden las distancias iguales: PE(p).PE(q) es la suma sobre i "
    "de sin(p w_i) sin(q w_i) + cos(p w_i) cos(q w_i) = cos((p - q) w_i). Solo "
    "queda p - q."};

inline constexpr Text kShiftHeading = {"The linear shift",
                                       "El desplazamiento lineal"};
inline constexpr Text kShiftSay = {
    "For every k there is one matrix M_k, the same for all positions, with "
    "PE(p + k) = M_k PE(p). It consists of a 2 x 2 rotation for each "
    "frequency. For k = 3 and d = 4:",
    "Para cada k existe una sola matriz M_k, la misma para todas las "
    "posiciones, con PE(p + k) = M_k PE(p). Consta de una rotación 2 x 2 por "
    "frecuencia. Para k = 3 y d = 4:"};
inline constexpr Text kShiftColumns = {"pair|frequency|block (sin, cos)",
                                       "par|frecuencia|bloque (sin, cos)"};
inline constexpr Text kShiftClaim = {
    "At $0 positions with d = $1, M_3 PE(p) and PE(p + 3) differ by at most "
    "$2.",
    "En $0 posiciones con d = $1, M_3 PE(p) y PE(p + 3) difieren como máximo "
    "en "
    "$2."};

inline constexpr Text kFigure = {
    "The table, the cosine similarity of its rows, and channels over "
    "positions.",
    "La tabla, la similitud coseno de sus filas y los canales según la "
    "posición."};
inline constexpr Text kFigureTitle = {"Sinusoidal codes, d = $0",
                                      "Códigos sinusoidales, d = $0"};
inline constexpr Text kHeatmapFigure = {"Table, $0 positions, $1 channels",
                                        "Tabla, $0 posiciones, $1 canales"};
inline constexpr Text kSimilarityFigure = {"Cosine of every two codes",
                                           "Coseno entre cada dos códigos"};
inline constexpr Text kWavesFigure = {"Channels $0", "Canales $0"};

inline constexpr Text kReadTable = {
    "Low channels turn quickly and tell neighbours apart; high channels turn "
    "slowly and tell far regions apart, like the digits of a number. All codes "
    "have the same length, sqrt(d / 2), so a code adds the same energy "
    "everywhere.",
    "Los canales bajos giran deprisa y distinguen posiciones vecinas; los "
    "altos "
    "giran despacio y distinguen regiones lejanas, como las cifras de un "
    "número. Todos los códigos tienen la misma longitud, sqrt(d / 2), de modo "
    "que un código suma la misma energía en todas partes."};
inline constexpr Text kReadShift = {
    "The dot product depends on the distance alone ($0 = $1), and a shift is a "
    "rotation that does not depend on the position (error $2). A linear layer "
    "can therefore learn to look a fixed number of positions back.",
    "El producto escalar depende solo de la distancia ($0 = $1), y un "
    "desplazamiento es una rotación que no depende de la posición (error $2). "
    "Por eso una capa lineal puede aprender a mirar un número fijo de "
    "posiciones atrás."};

inline constexpr Question kQuestions[] = {
    {{"Does the dot product always fall with the distance?",
      "¿Disminuye siempre el producto escalar con la distancia?"},
     {"No. It is a sum of cosines, so it falls at first and then oscillates. "
      "`locus check sinusoidal` counts the steps at which it rises "
      "(monotonic_decay).",
      "No. Es una suma de cosenos: primero baja y luego oscila. `locus check "
      "sinusoidal` cuenta los pasos en los que sube (monotonic_decay)."}},
    {{"The codes are defined at any position. Why do models with them still "
      "fail past their training length?",
      "Los códigos están definidos en cualquier posición. ¿Por qué fallan "
      "entonces los modelos más allá de su longitud de entrenamiento?"},
     {"Slow channels reach combinations of phases that never occurred in "
      "training. That a code exists does not mean that the weights know it; "
      "the "
      "extrapolation lab measures this.",
      "Los canales lentos alcanzan combinaciones de fases que nunca "
      "aparecieron "
      "en el entrenamiento. Que exista un código no significa que los pesos lo "
      "conozcan; el laboratorio extrapolation lo mide."}},
    {{"Which channels could be left out for sentences of 20 words?",
      "¿Qué canales sobrarían para frases de 20 palabras?"},
     {"Those whose wavelength is far above 20: over the whole sentence they "
      "hardly change, and act like a constant.",
      "Aquellos cuya longitud de onda supera con mucho 20: en toda la frase "
      "apenas cambian y actúan como una constante."}}};

}  // namespace locus::client::sinusoidal_text
