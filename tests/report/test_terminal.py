"""Tables on a terminal and in a pipe."""

import contextlib
import io

from hmetad.report.terminal import print_table

ROWS = [{"cell": f"c{i}", "m": float(i)} for i in range(200)]


class Screen(io.StringIO):
    def isatty(self):
        return True


def printed(target, rows):
    with contextlib.redirect_stdout(target):
        print_table(rows, {"cell": "cell", "m": "M"})
    return target.getvalue()


def test_a_long_table_is_cut_on_a_terminal_and_whole_in_a_pipe():
    piped = printed(io.StringIO(), ROWS)
    assert "c199" in piped
    assert "more rows" not in piped
    shown = printed(Screen(), ROWS)
    assert "c39" in shown
    assert "c40" not in shown
    assert "160 more rows: --format csv, or -o FILE, has all." in shown
    assert "c59" in printed(Screen(), ROWS[:60])
