"""An option that has no effect beside the others is refused, before any work."""

import pytest
from command_line import refused

PAGE = "measures trials.csv --by model --interval"
TRIALS = "measures trials.csv --by model"
JUDGED = "measures answers.csv --by model --correct correct"
NUMBERS = "compare draws.nc --over model --var auroc2 --kind superiority"
SESSIONS = "reliability people.csv --by subject,day --session day"


@pytest.fixture
def folder(tmp_path):
    """Files of which a command needs no more than the heads."""
    heads = {
        "trials.csv": "model,stimulus,response,confidence\na,1,1,1\na,2,2,2\n",
        "answers.csv": "model,correct,confidence\na,1,0.5\na,0,0.25\n",
        "people.csv": "subject,day,stimulus,response,confidence\na,1,1,1,1\n",
    }
    for name, text in heads.items():
        (tmp_path / name).write_text(text)
    for name in ("draws.nc", "fits/a.nc", "fits/b.nc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("line", "option"),
    [
        (f"{TRIALS} --rope=-0.1,0.1", "--rope"),
        (f"{TRIALS} --var nonsense", "--var"),
        (f"{TRIALS} --method bca", "--method"),
        (f"{TRIALS} --draws 50", "--draws"),
        (f"{TRIALS} --seed 3", "--seed"),
        (f"{TRIALS} --ci-prob 0.8", "--ci-prob"),
        (f"{TRIALS} --over model -o page.html", "--over"),
        (f"{PAGE} --over model -o table.csv", "--over"),
        (f"{PAGE} --rope=-0.1,0.1 -o page.html", "--rope"),
        (f"{JUDGED} --stimulus side", "--stimulus"),
        (f"{JUDGED} --response key", "--response"),
        (f"{JUDGED} --labels a,b", "--labels"),
        (f"{JUDGED} --correction loglinear", "--correction"),
        (f"{JUDGED} --quantiles 4 --correction loglinear", "--correction"),
        (f"{JUDGED} --quantiles-within model", "--quantiles-within"),
        (f"{NUMBERS} --null 3", "--null"),
        (f"{NUMBERS} --bonferroni", "--bonferroni"),
        (f"{NUMBERS} --ci-kind hdi", "--ci-kind"),
        (f"{NUMBERS} --ci-prob 0.8", "--ci-prob"),
        ("select people.csv --by subject --quick --draws 50", "--draws"),
        ("select people.csv --by subject --correction loglinear", "--correction"),
        (f"{SESSIONS} --splits 3", "--splits"),
        (f"{SESSIONS} --goal 0.9", "--goal"),
        (f"{SESSIONS} --seed 9", "--seed"),
        ("estimates draws.nc --formula 'auroc2 ~ 1' --limit columns=100", "--limit"),
        ("report fits --question Why? -o page.html", "--question"),
        ("plan --m-ratio 1,0.8 --correlation 0.3 --rope=-0.1,0.1", "--correlation"),
    ],
)
def test_an_option_without_effect_is_refused(folder, line, option):
    said = refused(folder, line)
    assert said.startswith((f"hmetad: {option} has no effect ", f"hmetad: {option}: got "))
