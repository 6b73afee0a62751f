"""Test cases of Attend for a whole multi-head layer."""

import numpy as np

import inputs
import neutral
import reference as ref
import streams


def module_case(name, scheme, **request):
    case = {"name": name, "scheme": scheme, **request}
    answer = ref.module(case)
    case["expect"] = {"output": neutral.from_array(answer["output"])}
    return case


def module_cases():
    stream = streams.Stream(30, "golden.module")
    x = inputs.tensor(stream, 2, 3, 4)
    weights = {name: inputs.tensor(stream, 4, 4) for name in ("wq", "wk", "wv", "wo")}
    words = ["the", "cat", "saw", "the", "dog"]
    ids = {"ids": [7, 3, 40]}
    at_ids = {"query_positions": ids, "key_positions": ids}
    cases = [
        module_case("module/none", {"none": {}}, x=x, seed=1),
        module_case("module/weights", {"none": {}}, x=x, weights=weights, head_count=2),
        module_case("module/sinusoidal", {"sinusoidal": {}}, x=x, seed=2, head_count=2),
        module_case("module/sinusoidal ids", {"sinusoidal": {}}, x=x, seed=2, options=at_ids),
        module_case("module/learned", {"learned": {"seed": 5, "max_length": 2, "policy": "CLAMP"}},
                    x=x, seed=2, head_count=4),
        module_case("module/rope", {"rope": {"layout": "HALF_SPLIT"}}, x=x, weights=weights,
                    head_count=2, options={"causal": True}),
        module_case("module/rope ids", {"rope": {}}, x=x, seed=3, options=at_ids),
        module_case("module/alibi", {"alibi": {"symmetric": True}}, x=x, seed=4, head_count=4),
        module_case("module/t5", {"t5_bias": {"seed": 6, "bidirectional": True}}, x=x, seed=4,
                    head_count=2, options={"window": 2, "softcap": 2.0}),
        module_case("module/words", {"sinusoidal": {}}, tokens=words, seed=9, dim=6, head_count=3),
        module_case("module/words causal", {"alibi": {}}, tokens=words, dim=4, head_count=2,
                    options={"causal": True}),
        module_case("module/words, default width", {"none": {}}, tokens=["naïve"], seed=2),
    ]
    return cases


def equivariance_cases():
    """Permutation equivariance: 3 tokens, width 8, one head, permutation [2, 0, 1]."""
    order = [2, 0, 1]
    x = inputs.draw(streams.Stream(31, "golden.equivariance"), (1, 3, 8))
    cases = []
    for name in ("none", "sinusoidal"):
        original = module_case(f"equivariance/{name}", {name: {}},
                                 x=neutral.from_array(x), seed=0)
        permuted = module_case(f"equivariance/{name}/permuted", {name: {}},
                            x=neutral.from_array(x[:, order]), seed=0)
        difference = np.abs(neutral.to_array(permuted["expect"]["output"])
                            - neutral.to_array(original["expect"]["output"])[:, order]).max()
        assert difference < 1e-12 if name == "none" else difference > 1e-3
        cases += [original, permuted]
    return cases


def all_cases():
    return module_cases() + equivariance_cases()
