// Texts of the lab about permutation equivariance.
#pragma once

#include "client/cli/labs/lab.h"

namespace locus::client::equivariance_text {

inline constexpr Text kTitle = {
    "attention without positions does not see word order",
    "la atención sin posiciones no ve el orden de las palabras"};
inline constexpr Text kSummary = {
    "Permutes the tokens of a layer without and with position codes, and "
    "compares the outputs.",
    "Permuta las palabras de una capa sin y con códigos de posición, y compara "
    "las salidas."};

inline constexpr Text kTheoremHeading = {"The theorem", "El teorema"};
inline constexpr Text kTheorem = {
    "Theorem. Let Attn be self-attention without positions and P a permutation "
    "matrix. Then Attn(P X) = P Attn(X): permuting the input only permutes the "
    "output.",
    "Teorema. Sea Attn la autoatención sin posiciones y P una matriz de "
    "permutación. Entonces Attn(P X) = P Attn(X): permutar la entrada solo "
    "permuta la salida."};
inline constexpr Text kProof = {
    "  1. Q' = P X W_Q = P Q, and likewise K' = P K and V' = P V.\n"
    "  2. S' = Q' K'^T / sqrt(d) = P S P^T.\n"
    "  3. Softmax acts on each row alone, so softmax(P S P^T) = P softmax(S) "
    "P^T.\n"
    "  4. Y' = P softmax(S) P^T P V = P softmax(S) V = P Y, since P^T P = I.\n",
    "  1. Q' = P X W_Q = P Q, y del mismo modo K' = P K y V' = P V.\n"
    "  2. S' = Q' K'^T / sqrt(d) = P S P^T.\n"
    "  3. Softmax actúa fila a fila, así que softmax(P S P^T) = P softmax(S) "
    "P^T.\n"
    "  4. Y' = P softmax(S) P^T P V = P softmax(S) V = P Y, pues P^T P = I.\n"};

inline constexpr Text kWithoutHeading = {"Without positions", "Sin posiciones"};
inline constexpr Text kSetting = {
    "Tokens: $0. Width $1, one head, seed $2, no mask. The permutation $3 "
    "turns "
    "the input into: $4. Y is the output of the layer.",
    "Palabras: $0. Anchura $1, una cabeza, semilla $2, sin máscara. La "
    "permutación $3 convierte la entrada en: $4. Y es la salida de la capa."};
inline constexpr Text kY = {"Y, the output of the tokens",
                            "Y, la salida de las palabras"};
inline constexpr Text kSideBySide = {
    "For each token: its row of Y$0, its row of Y(P X), and their difference",
    "Para cada palabra: su fila de Y$0, su fila de Y(P X) y la diferencia"};
inline constexpr Text kDifferenceName = {"difference", "diferencia"};
inline constexpr Text kWithoutClaim = {
    "Without positions, Y(P X) and P Y differ by at most $0, which is below "
    "1e-6.",
    "Sin posiciones, Y(P X) y P Y difieren como máximo en $0, menos de 1e-6."};

inline constexpr Text kWithHeading = {"With sinusoidal positions",
                                      "Con posiciones sinusoidales"};
inline constexpr Text kWithSay = {
    "Now the code PE(p) is added to the token at position p. Positions stay "
    "where they are when the tokens move, so each token gets another code.",
    "Ahora se suma el código PE(p) a la palabra de la posición p. Las "
    "posiciones no se mueven con las palabras, así que cada palabra recibe "
    "otro "
    "código."};
inline constexpr Text kDifferenceMatrix = {"Difference Y(P X) - Y$0",
                                           "Diferencia Y(P X) - Y$0"};
inline constexpr Text kWithClaim = {
    "With sinusoidal codes, the outputs differ by up to $0, which is above "
    "1e-3.",
    "Con códigos sinusoidales, las salidas difieren hasta en $0, más de 1e-3."};

inline constexpr Text kHandHeading = {"Three tokens by hand",
                                      "Tres palabras a mano"};
inline constexpr Text kHandSay = {
    "X = [(1, 0), (0, 1), (1, 1)], all weights are the identity, and scores "
    "are "
    "not scaled. Then S = X X^T, A = softmax(S) row by row, and Y = A X.",
    "X = [(1, 0), (0, 1), (1, 1)], todos los pesos son la identidad y las "
    "puntuaciones no se escalan. Entonces S = X X^T, A = softmax(S) fila a "
    "fila "
    "e Y = A X."};
inline constexpr Text kScores = {"Scores S", "Puntuaciones S"};
inline constexpr Text kWeights = {"Weights A = softmax(S)",
                                  "Pesos A = softmax(S)"};
inline constexpr Text kOutputs = {"Outputs Y", "Salidas Y"};
inline constexpr Text kSwappedOutputs = {
    "Outputs after swapping tokens 1 and 3",
    "Salidas tras intercambiar las palabras 1 y 3"};
inline constexpr Text kHandClaim = {
    "Swapping tokens 1 and 3 reorders the outputs and changes nothing else (at "
    "most $0).",
    "Intercambiar las palabras 1 y 3 reordena las salidas y no cambia nada más "
    "(como máximo $0)."};

inline constexpr Text kDogHeading = {"dog bites man, man bites dog",
                                     "dog bites man, man bites dog"};
inline constexpr Text kDogSay = {
    "The two sentences have the same words in another order. The table has the "
    "largest change of the output of each word.",
    "Las dos frases tienen las mismas palabras en otro orden. La tabla da el "
    "mayor cambio de la salida de cada palabra."};
inline constexpr Text kDogWithout = {"without", "sin"};
inline constexpr Text kDogWith = {"with", "con"};
inline constexpr Text kDogClaim = {
    "Without positions, no word can tell who bites: the outputs change by at "
    "most $0.",
    "Sin posiciones, ninguna palabra distingue quién muerde: las salidas "
    "cambian como máximo en $0."};
inline constexpr Text kDogWithClaim = {
    "With positions, the outputs change by up to $0.",
    "Con posiciones, las salidas cambian hasta en $0."};

inline constexpr Text kWithoutFigure = {
    "Without positions: the two outputs are equal, and the difference is zero.",
    "Sin posiciones: las dos salidas son iguales y la diferencia es cero."};
inline constexpr Text kWithFigure = {
    "With sinusoidal positions: the outputs differ.",
    "Con posiciones sinusoidales: las salidas difieren."};

inline constexpr Text kReadWithout = {
    "Without positions the layer computed the same three vectors for both "
    "orders, up to $0, which is the rounding of single precision. It cannot "
    "distinguish \"he works\" from \"works he\", whatever its weights are: the "
    "proof does not use their values.",
    "Sin posiciones, la capa calculó los mismos vectores para ambos órdenes, "
    "salvo $0, que es el redondeo de la precisión simple. No puede distinguir "
    "\"he works\" de \"works he\", sean cuales sean sus pesos: la demostración "
    "no usa sus valores."};
inline constexpr Text kReadWith = {
    "With sinusoidal codes the difference is $0, about $1 times larger. Step 1 "
    "of the proof fails: the input is P X + PE, and not P (X + PE). Order "
    "becomes visible because position and token are tied together.",
    "Con códigos sinusoidales la diferencia es $0, unas $1 veces mayor. Falla "
    "el "
    "paso 1 de la demostración: la entrada es P X + PE, y no P (X + PE). El "
    "orden se hace visible porque posición y palabra quedan unidas."};

inline constexpr Question kQuestions[] = {
    {{"Does a causal mask alone break permutation equivariance?",
      "¿Rompe una máscara causal por sí sola la equivarianza a permutaciones?"},
     {"Yes. The mask goes by index, so a token that moves sees other tokens. "
      "The last query still sees all of them, and its output does not depend "
      "on "
      "the order of the others in one layer. Try --causal with `locus attend "
      "--permute`.",
      "Sí. La máscara va por índice, de modo que una palabra que se mueve ve "
      "otras palabras. La última consulta las ve todas, y en una sola capa su "
      "salida no depende del orden de las demás. Pruebe --causal con `locus "
      "attend --permute`."}},
    {{"What happens if the positions are permuted together with the tokens?",
      "¿Qué ocurre si las posiciones se permutan junto con las palabras?"},
     {"The layer is equivariant again, with every scheme: the pairs of token "
      "and position are a set. `locus check` measures this as "
      "joint_equivariance.",
      "La capa vuelve a ser equivariante, con cualquier esquema: los pares de "
      "palabra y posición forman un conjunto. `locus check` lo mide como "
      "joint_equivariance."}},
    {{"Would more layers or heads without positions help?",
      "¿Ayudarían más capas o cabezas sin posiciones?"},
     {"No. A composition of equivariant layers is equivariant, and so is a "
      "feed-forward network that is applied to each token alone.",
      "No. La composición de capas equivariantes es equivariante, y también lo "
      "es una red que se aplica a cada palabra por separado."}}};

}  // namespace locus::client::equivariance_text
