"""Bad input ends in one line that names the option, with status 2, before any work."""

import pytest
from command_line import refused, tells

ASK = "compare fit.nc --over model --within task --rope=-0.1,0.1"
JUDGED = "measures heads.csv --by model --correct correct"
NUMBERS = "compare none.nc --over model --var auroc2 --kind superiority"
PEOPLE = "plan groups --question mean --subjects 20"
PLAN = "plan trials --rope=-1,1"
SELECT = "select trials.csv --by subject=model --quick"
SESSIONS = "reliability people.csv --by subject,day --session day"
IDLE = "has an effect only"

REFUSED = {
    "compare": "Missing argument",
    "compare fit.nc --over model": "--rope: .*got nothing",
    "compare fit.nc --over model --rope=0.1,-0.1": "Write --rope=-0.1,0.1.",
    "compare fit.nc --over model --rope=-1,1": "Compare within each: --within task; or over all",
    "compare fit.nc --over model --rope=ten": "two numbers",
    f"{ASK} --matrix narrow.csv": "two levels or more",
    "compare trials.csv --over model --rope=-1,1": "a fit as hmetad wrote it",
    "compare nofile.nc --over model --rope=-1,1": "hmetad fit",
    f"{ASK} --var log_mm": "--var: .*got 'log_mm'",
    "compare fit.nc --var criteria --rope=-1,1": "one number a place",
    f"{ASK} --against god": "Did you mean 'good'",
    f"{ASK} --matrix unknown.csv": "Did you mean 'good'",
    f"{ASK} --kind superiority": "leave --rope out",
    f"{ASK} --population --new set": "does not go with",
    f"{ASK} --new set": "a fit of estimates",
    f"{NUMBERS} -o page.html": ".csv",
    "compare fit.nc fit.nc --over fit --rope=-1,1": "Write fit1=fit.nc fit2=fit.nc.",
    "compare =fit.nc --over model --rope=-1,1": "name=file.nc",
    "compare good.nc poor.nc --rope=-1,1": "Write --over fit",
    f"{ASK} -o nowhere/page.html": "a folder that exists",
    f"{ASK} --format yaml": "Invalid value for '--format'",
    f"{ASK} --format csv --json": "does not go with",
    f"{ASK} --format csv --rank -o page.html": "One CSV is one table",
    f"{ASK} --sensitivity -o rows.csv": "One CSV is one table",
    f"{ASK} --ci-prob 95": "--ci-prob: .*got 95",
    "compare fit.nc --within task --rope=-1,1": f"--within {IDLE}",
    "compare fit.nc --kind superiority": f"--kind {IDLE}",
    f"{NUMBERS} --null 3": f"--null {IDLE}",
    f"{NUMBERS} --sensitivity": f"--sensitivity {IDLE}",
    "fit nofile.csv": "In that folder: ",
    "fit trials.csv --response respons": "Did you mean 'response'",
    "fit trials.csv --model individul": "Did you mean 'individual'",
    "fit trials.csv --formula a --formula b": "--formula",
    "fit trials.csv --quantiles 4 --quantiles-within modl": "--quantiles-within: .*got 'modl'",
    "fit trials.csv --quantiles-within model": f"--quantiles-within {IDLE}",
    "fit trials.csv -o fit.csv": "a name that ends in .nc",
    "fit trials.csv -o folder.nc": "a file",
    "fit trials.csv --draws many": "Invalid value for '--draws'",
    "measures heads.csv --by model": "correct or incorrect: --correct correct",
    "measures heads.csv --correct corect": "Did you mean 'correct'",
    f"{JUDGED} --meta-d": "--meta-d does not go with --correct",
    f"{JUDGED} --by item --interval --cluster item": "Leave item out of --by",
    f"{JUDGED} -o draws.nc": "Add --interval.",
    "measures trials.csv -o table.xlsx": ".csv, .json, .html",
    "measures trials.csv --by model --over model -o page.html": f"--over {IDLE}",
    "plan trials": "--rope: .*got none",
    f"{PLAN} --trials 10.5": "whole numbers",
    f"{PLAN} --dprime 1,2 --m-ratio 1": "--dprime",
    "plan trials --m-ratio 1 --probability 0.8": "Add --rope",
    f"{PLAN} --probability 0.8 --half-width 1": "does not go with",
    f"{PLAN} --probability 1": "Invalid value for '--probability'",
    "plan groups --question difference --subjects 20,many": "--subjects: .*got '20,many'",
    "plan groups --question difference": "--effect: .*got none",
    "plan groups": "Missing option '--question'",
    f"{PLAN} --options 4 --meta-criterion absolute": f"--meta-criterion {IDLE}",
    f"{PEOPLE} --effect 0.2": "--effect: .*got 0.2 of a mean",
    "reliability trials.csv --by day": "--by: .*Expected subject among.*got day",
    "reliability trials.csv --by subject=model --session day": "--session: .*got 'day'",
    "report fit.nc": "Write -o page.html, or --json.",
    "report two --question Why? -o page.html": f"--question {IDLE}",
    "reproduce servajaen2026": "Did you mean 'servajean2026'",
    "reproduce servajean2026 --out heads.csv": "can be written to",
    "reproduce meyen2025 --draws 10": "--draws",
    "select trials.csv --by model,task": "one column",
    f"{SELECT} --difficulty task --models sdt,wew": "wev",
    f"{SELECT} --draws 50": f"--draws {IDLE}",
    "select trials.csv --by model --correction loglinear": f"--correction {IDLE}",
}  # fmt: skip


@pytest.fixture(scope="session")
def files(folder):
    """Files of which a command needs no more than the heads."""
    texts = {
        "heads.csv": "model,item,correct,confidence\na,1,1,0.5\na,2,0,0.25\n",
        "people.csv": "subject,day,stimulus,response,confidence\na,1,1,1,1\n",
        "unknown.csv": "contrast,goood,poor\nhalf,1,-1\n",
        "none.nc": "",
        "narrow.csv": "good,poor\n1,-1\n",
        "two/a.nc": "",
        "two/b.nc": "",
        "folder.nc/inside": "",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(("line", "says"), REFUSED.items())
def test_what_cannot_be_done_is_refused(files, line, says):
    assert tells(refused(files, line), says)
