// Texts of the lab about rotary positions.
#pragma once

#include "client/cli/labs/lab.h"

namespace locus::client::rope_text {

inline constexpr Text kTitle = {
    "rotations make scores depend on the distance alone",
    "con rotaciones, la puntuación depende solo de la distancia"};
inline constexpr Text kSummary = {
    "Rotates a random query and a random key with RoPE, and checks the "
    "relative "
    "property, the norms and the composition of rotations.",
    "Rota una consulta y una clave aleatorias con RoPE, y comprueba la "
    "propiedad relativa, las normas y la composición de rotaciones."};

inline constexpr Text kRelativeHeading = {"The relative property",
                                          "La propiedad relativa"};
inline constexpr Text kRelativeSay = {
    "R(p) rotates pair i of a vector by the angle p w_i, with w_i = "
    "10000^(-2i / d). Width $0, $1 positions, seed $2. For positions m of the "
    "query and n of the key, the score of the rotated vectors is compared with "
    "the score at the same distance where the smaller position is 0.",
    "R(p) rota el par i de un vector el ángulo p w_i, con w_i = 10000^(-2i / "
    "d). Anchura $0, $1 posiciones, semilla $2. Para las posiciones m de la "
    "consulta y n de la clave, la puntuación de los vectores rotados se "
    "compara "
    "con la puntuación a la misma distancia con la posición menor en 0."};
inline constexpr Text kColumns = {
    "(m, n)|<R(m) q, R(n) k>|same distance from 0|difference",
    "(m, n)|<R(m) q, R(n) k>|misma distancia desde 0|diferencia"};
inline constexpr Text kRelativeClaim = {
    "For all pairs the two scores differ by at most $0, which is below 1e-5.",
    "Para todos los pares, las dos puntuaciones difieren como máximo en $0, "
    "menos de 1e-5."};

inline constexpr Text kNormHeading = {"Norms and composition",
                                      "Normas y composición"};
inline constexpr Text kNormClaim = {
    "The norm of the query, $0, changes by at most $1 at all positions.",
    "La norma de la consulta, $0, cambia como máximo en $1 en todas las "
    "posiciones."};
inline constexpr Text kComposeClaim = {
    "R(a) R($0) q = R(a + $0) q for all a: the largest difference is $1.",
    "R(a) R($0) q = R(a + $0) q para todo a: la mayor diferencia es $1."};
inline constexpr Text kNoCodeClaim = {
    "R(0) is the identity: the query at position 0 changes by $0.",
    "R(0) es la identidad: la consulta en la posición 0 cambia en $0."};

inline constexpr Text kFigureTitle = {"RoPE as clocks", "RoPE como relojes"};
inline constexpr Text kFigure = {
    "Each hand is one position, from 0 to 5: fast pairs turn far, slow pairs "
    "hardly move.",
    "Cada aguja es una posición, de 0 a 5: los pares rápidos giran mucho, los "
    "lentos apenas se mueven."};
inline constexpr Text kClock = {"pair $0", "par $0"};
inline constexpr Text kClockCaption = {"$0 radians per position",
                                       "$0 radianes por posición"};
inline constexpr Text kDecayFigure = {
    "Score of two equal vectors at every distance.",
    "Puntuación de dos vectores iguales a cada distancia."};

inline constexpr Text kRead = {
    "The scores of (3, 7) and of (0, 4) agree up to $0, although both vectors "
    "were rotated by other angles: <R(m) q, R(n) k> = q^T R(n - m) k, since "
    "the "
    "transpose of a rotation turns back. Nothing is added to the embeddings, "
    "and norms stay as they are ($1), so the values carry no trace of "
    "positions.",
    "Las puntuaciones de (3, 7) y de (0, 4) coinciden salvo $0, aunque los "
    "vectores se rotaron con otros ángulos: <R(m) q, R(n) k> = q^T R(n - m) k, "
    "pues la traspuesta de una rotación gira hacia atrás. No se suma nada a "
    "los "
    "vectores de entrada y las normas no cambian ($1), así que los valores no "
    "llevan rastro de la posición."};

inline constexpr Question kQuestions[] = {
    {{"Why are queries and keys rotated, but not values?",
      "¿Por qué se rotan consultas y claves, pero no los valores?"},
     {"Positions decide where a token looks, which is the score of query and "
      "key. A rotated value would carry its absolute position into the output, "
      "and the layer would no longer be invariant to shifts.",
      "Las posiciones deciden adónde mira una palabra, es decir, la puntuación "
      "de consulta y clave. Un valor rotado llevaría su posición absoluta a la "
      "salida, y la capa dejaría de ser invariante a desplazamientos."}},
    {{"Which pairs have not made a whole turn at the training length, and why "
      "does it matter?",
      "¿Qué pares no completan una vuelta en la longitud de entrenamiento, y "
      "por qué importa?"},
     {"The slow ones, with a wavelength above the training length. Past it "
      "they "
      "reach angles that were never trained. `locus explain rope --trained "
      "2048` lists them; scalings such as YaRN stretch them.",
      "Los lentos, cuya longitud de onda supera la de entrenamiento. Más allá "
      "alcanzan ángulos que nunca se entrenaron. `locus explain rope --trained "
      "2048` los enumera; escalados como YaRN los estiran."}},
    {{"What changes if the base is 500000 instead of 10000?",
      "¿Qué cambia si la base es 500000 en lugar de 10000?"},
     {"The slow pairs turn more slowly, so that longer texts stay within one "
      "turn; the fastest pair stays at one radian per position.",
      "Los pares lentos giran más despacio, de modo que textos más largos "
      "caben "
      "en una vuelta; el par más rápido sigue en un radián por posición."}}};

}  // namespace locus::client::rope_text
