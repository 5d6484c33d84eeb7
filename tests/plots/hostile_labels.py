"""Labels that would be markup, commands or figures of speech where they are not escaped."""

import numpy as np
import pandas as pd

HOSTILE = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "a|b",
    "$x_1$",
    "Müller & 子",
    "two\nlines",
    "`tick`",
    "[x](javascript:y)",
    "x" * 300,
    r"\input{x} % # & _ ^ ~ { }",
    "--> ]]> </svg></style>",
    "bell \x07 and turned \u202e text",
    "*star*",
    "((( title ))) ((* raw *)) {{ title }} {% raw %}",
    "=1+1",
)
VERDICTS = ("different", "negligible", "inconclusive", "unreliable")


def hostile_table():
    """Estimates with intervals and verdicts, a row per label."""
    size = len(HOSTILE)
    return pd.DataFrame(
        {
            "label": HOSTILE,
            "mean": np.linspace(-0.5, 0.5, size),
            "lower": np.linspace(-0.7, 0.3, size),
            "upper": np.linspace(-0.3, 0.7, size),
            "n": range(size),
            "verdict": [VERDICTS[place % 4] for place in range(size)],
        }
    )
