"""Labels that would be markup, commands or figures of speech where they are not escaped."""

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
