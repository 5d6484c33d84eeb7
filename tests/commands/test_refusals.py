"""Bad input ends in one line that names the option, with status 2, before any work."""

import pytest
from command_line import refused, tells

ASK = "compare fit.nc --over model --within task --rope=-0.1,0.1"
JUDGED = "measures heads.csv --by model --correct correct"
PLAN = "plan trials --rope=-1,1"
SELECT = "select trials.csv --by subject=model --quick"
IDLE = "has an effect only"

REFUSED = {
    "compare": "Missing argument",
    "compare fit.nc --over model": "--rope: .*got nothing",
    "compare fit.nc --over model --rope=0.1,-0.1": "Write --rope=-0.1,0.1.",
    "compare fit.nc --over model --rope=-1,1": "within each: --within task.*: --population.",
    "compare trials.csv --over model --rope=-1,1": "a fit as hmetad wrote it",
    "compare nofile.nc --over model --rope=-1,1": "hmetad fit",
    "compare fit.nc --var criteria --rope=-1,1": "one number a place",
    f"{ASK} --against god": "Did you mean 'good'",
    f"{ASK} --matrix unknown.csv": "Did you mean 'good'",
    f"{ASK} --population --new set": "does not go with",
    f"{ASK} --new set": "new: There are:",
    "compare fit.nc fit.nc --over fit --rope=-1,1": "Write fit1=fit.nc fit2=fit.nc.",
    "compare =fit.nc --over model --rope=-1,1": "name=file.nc",
    "compare good.nc poor.nc --rope=-1,1": "Write --over fit",
    f"{ASK} -o nowhere/page.html": "a folder that exists",
    f"{ASK} --format csv --json": "does not go with",
    f"{ASK} --format csv --rank -o page.html": "one table",
    f"{ASK} --sensitivity -o rows.csv": "one table",
    "compare fit.nc --within task --rope=-1,1": f"--within {IDLE}",
    "fit nofile.csv": "In that folder: ",
    "fit trials.csv --formula a --formula b": "--formula",
    "fit trials.csv --by model --model group --conditions tusk": "--by or --conditions",
    "fit trials.csv --quantiles 4 --quantiles-within modl": "--quantiles-within: .*got 'modl'",
    "fit trials.csv --quantiles-within model": f"--quantiles-within {IDLE}",
    "fit trials.csv -o fit.csv": "a name that ends in .nc",
    "fit trials.csv --items items.nc": "--items: .*a name that ends in .csv",
    "fit trials.csv --items nowhere/items.csv": "--items: .*a folder that exists",
    "fit trials.csv --items trials.csv": "--items: .*the input 'trials.csv'",
    "fit trials.csv --by model,task --items items.csv": "--items: .*got a fit of individual",
    "fit heads.csv --by model,item --correct correct --options 4 --model alternatives_crossed "
    "--levels 0.25,0.5 --items items.csv": "formula of m: .*--by subject=COLUMN",
    "fit trials.csv --draws many": "Invalid value for '--draws'",
    "measures heads.csv --by model": "correct or incorrect: --correct correct",
    f"{JUDGED} --meta-d": f"--meta-d {IDLE} with --options",
    f"{JUDGED} --by item --interval --cluster item": "Omit item from --by",
    f"{JUDGED} -o draws.nc": "Add --interval.",
    "measures trials.csv -o table.xlsx": ".csv, .json, .html",
    "measures trials.csv --by model --over model -o page.html": f"--over {IDLE}",
    "plan trials": "--rope: .*got none",
    f"{PLAN} --trials 10.5": "integers",
    "plan trials --m-ratio 1 --probability 0.8": "Add --rope",
    f"{PLAN} --probability 0.8 --half-width 1": "does not go with",
    "plan groups --question difference --subjects 20,many": "--subjects: .*got '20,many'",
    "plan groups": "Missing option '--question'",
    "reliability trials.csv --by day": "--by: .*Expected subject among.*got day",
    "report fit.nc": "Write -o page.html, or --json.",
    "report two --question Why? -o page.html": f"--question {IDLE}",
    "reproduce servajaen2026": "Did you mean 'servajean2026'",
    "reproduce servajean2026 --out heads.csv": "can be written to",
    "reproduce meyen2025 --draws 10": "--draws",
    "select trials.csv --by model,task": "one column",
    f"{SELECT} --draws 50": f"--draws {IDLE}",
}  # fmt: skip


@pytest.fixture(scope="session")
def files(folder):
    """Files of which a command needs no more than the heads."""
    texts = {
        "heads.csv": "model,item,correct,confidence\na,1,1,0.5\na,2,0,0.25\n",
        "unknown.csv": "contrast,goood,poor\nhalf,1,-1\n",
        "none.nc": "",
        "two/a.nc": "",
        "two/b.nc": "",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(("line", "says"), REFUSED.items())
def test_what_cannot_be_done_is_refused(files, line, says):
    assert tells(refused(files, line), says)
