"""Texts of fragments that act somewhere, and of any signs between them."""

from hypothesis import strategies as st

FRAGMENTS = (
    *("<script>owned()</script>", "<img src=x onerror=owned()>", "</title>", "</style>", "-->"),
    *("]]>", "</svg>", '" onmouseover="owned()', "' autofocus onfocus='owned()", "&lt;", "&#x3c;"),
    *("javascript:owned()", "data:text/html,<script>owned()</script>", "<!--", "<![CDATA["),
    *("{{ 7*7 }}", "{% raw %}", "((* set x *))", "((( title )))", "{#", "${7*7}", "<%= 1 %>"),
    *(r"\input{/etc/passwd}", r"\immediate\write18{touch owned}", "^^5cinput", r"\catcode`\%=0"),
    *(r"\openout0=owned", "%", "$", "#", "&", "_", "^", "~", "{", "}", "\\", "--", "``", "[*]"),
    *("![x](http://e.org/a.png)", "[x](javascript:owned())", "<http://e.org>", "http://e.org"),
    *("www.e.org", "a@e.org", "```", "    ", "| a | b |", "|", "*", "__", "1. ", "- ", "# ", "> "),
    *(":::{raw} html", "[^1]", "[x]: http://e.org", "---", "===", "\n", "\r", "\r\n", "\n\n", "\t"),
    *("=cmd|' /C calc'!A0", '=HYPERLINK("http://e.org","x")', "@SUM(1)", "+1+1", "-1-1", "-1"),
    *("=", "+", "-", "@", "＝1", "＋1", "－1", "＠x", ";", ",", "'", '"', "`", "1", "-0.5", " "),
    *("\x1b[2J", "\x1b]0;owned\x07", "\x1b]8;;http://e.org\x07", "\x9b31m", "\x00", "\x07", "\x08"),
    *("\x7f", "\x85", "\u202e", "\u2066", "\u061c", "\u200b", "\u200d", "\ufeff", "\u2028"),
    *("\U000e0041", "\ud800", "\udfff", "é", "e\u0301", "子", "😀", "x" * 80, "con", "../../x"),
)
texts = st.lists(
    st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=4)), min_size=1, max_size=6
).map("".join)
