"""The house keeps its plan: imports point down, rooms are empty inside, names are public once."""

import ast
import io
import subprocess
import sys
import tokenize
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import hmetad
from hmetad.base.lazy import homes_in

PACKAGE = Path(hmetad.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")

# Each room, and the rooms below it that it may use.
BELOW = {
    "base": set(),
    "rows": {"base"},
    "counts": {"base", "rows"},
    "likelihood": {"base"},
    "compare": {"base"},
    "logs": {"base", "rows", "counts"},
    "datasets": {"base", "rows", "counts"},
    "norms": {"base"},
    "measures": {"base", "rows", "counts"},
}
BELOW["specs"] = {*BELOW["measures"], "measures", "likelihood"}
BELOW["mle"] = {*BELOW["specs"], "specs"}
BELOW["bayes"] = {*BELOW["mle"], "mle"}
BELOW["select"] = {*BELOW["bayes"], "bayes", "compare"}
BELOW["simulate"] = {*BELOW["select"], "select", "norms"}
BELOW["text"] = {"base"}
BELOW["plots"] = {*BELOW["bayes"], "bayes", "compare", "text", "norms"}
BELOW["report"] = {*BELOW["simulate"], "simulate", "select", "text", "plots"}
BELOW["studies"] = {*BELOW["report"], "report", "datasets"}
BELOW["commands"] = {*BELOW["studies"], "studies", "logs", "rows", "hmetad"}
BELOW["tool_metrics"] = {*BELOW["mle"], "logs", "hmetad"}
BELOW["lm_eval_tasks"] = {*BELOW["tool_metrics"], "tool_metrics"}
BELOW["inspect_plugin"] = {*BELOW["lm_eval_tasks"]}
BELOW["cli"] = {"base", "report", "commands"}
BELOW["__main__"] = {"base"}
# Public modules without a room of their own.
BELOW |= {"groups": {"base"}, "information": {"base"}}
# The same of the folders inside the room of reports.
BELOW_IN_REPORT = {"page": set(), "contents": {"page"}}
HOMES_OF_LIBRARIES = {
    "duckdb": {"rows"},
    "inspect_ai": {"inspect_plugin"},
    "pymc": {"bayes"},
    "pytensor": {"bayes", "likelihood/tensors"},
    "numba": {"likelihood/compiling", "likelihood/tape", "bayes/density"},
    "matplotlib": {"plots", "report", "studies"},
    "pooch": {"datasets"},
}

# The most lines of code of each room: those that are no docstring, no comment and not blank.
MOST_LINES = {
    "base": 1471,
    "bayes": 5858,
    "commands": 2761,
    "compare": 1971,
    "counts": 3599,
    "likelihood": 3894,
    "logs": 2844,
    "measures": 2965,
    "mle": 2403,
    "plots": 1686,
    "report": 3921,
    "rows": 1755,
    "simulate": 1324,
    "specs": 1962,
    "studies": 1755,
}
# Public modules and small folders that count as part of a room.
PART_OF = {"cli": "commands", "datasets": "logs", "norms": "measures", "select": "bayes"}
PART_OF |= {"text": "report", "tool_metrics": "logs", "lm_eval_tasks": "logs"}
PART_OF |= {"inspect_plugin": "logs"}


def lines_of_code(path):
    """Number of lines of a file that hold code."""
    text = path.read_text(encoding="utf-8")
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    prose = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            prose |= {*range(node.body[0].lineno, node.body[0].end_lineno + 1)}
    blank = (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in blank:
            code |= {*range(token.start[0], token.end[0] + 1)}
    return len(code - prose)


def room_of(path):
    """Room that the lines of a file count for; the few at the top that have none count for base."""
    first = path.relative_to(PACKAGE).with_suffix("").parts[0]
    room = PART_OF.get(first, first)
    return room if room in MOST_LINES else "base"


@pytest.mark.parametrize("room", MOST_LINES)
def test_rooms_keep_to_their_budget(room):
    files = [path for path in PACKAGE.rglob("*.py") if room_of(path) == room]
    assert sum(map(lines_of_code, files)) <= MOST_LINES[room]


def test_every_folder_is_in_a_room():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders <= {*MOST_LINES, *PART_OF}


def name_of(path):
    return path.relative_to(PACKAGE).with_suffix("").as_posix()


@cache
def imported(path):
    """Modules that a file imports, anywhere in it."""
    found = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found.append(node.module)
    return found


@cache
def imports_of_modules():
    """Modules of the package that each module of it imports."""
    names = {dotted(path) for path in MODULES}
    return {dotted(path): names.intersection(imported(path)) for path in MODULES}


def dotted(path):
    return f"hmetad.{name_of(path).replace('/', '.')}"


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def test_imports_point_down():
    assert [
        f"{name_of(path)} imports {module}"
        for path in MODULES
        for module in imported(path)
        if not points_down(name_of(path).split("/")[0], module.split("."))
    ] == []


def points_down(room, parts):
    """Whether a room may import a module, given by the parts of its name."""
    target = parts[1] if len(parts) > 1 else "hmetad"
    return parts[0] != "hmetad" or target == room or target in BELOW[room]


def test_imports_inside_the_room_of_reports_point_down_too():
    inside = [path for path in MODULES if path.parent.parent.name == "report"]
    assert {path.parent.name for path in inside} == set(BELOW_IN_REPORT)
    for path in inside:
        allowed = {path.parent.name, *BELOW_IN_REPORT[path.parent.name]}
        folders = {m.split(".")[2] for m in imported(path) if m.startswith("hmetad.report.")}
        assert folders & set(BELOW_IN_REPORT) <= allowed, name_of(path)


def test_heavy_libraries_stay_in_their_rooms():
    for path in MODULES:
        for module in imported(path):
            homes = HOMES_OF_LIBRARIES.get(module.split(".")[0], {name_of(path)})
            assert name_of(path).startswith(tuple(homes)), f"{name_of(path)} imports {module}"


def test_modules_do_not_import_each_other_in_a_circle():
    # A sorter raises CycleError, which names the modules.
    TopologicalSorter(imports_of_modules()).prepare()


def test_imports_stand_at_the_top():
    assert [
        name_of(path)
        for path in MODULES
        for function in ast.walk(parsed(path))
        if isinstance(function, ast.FunctionDef)
        and any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(function))
    ] == []


def test_every_module_says_what_it_does():
    for path in MODULES:
        tree = parsed(path)
        assert ast.get_docstring(tree), path
        if path.with_suffix(".pyi") in STUBS:
            assert [ast.unparse(line) for line in tree.body[2:]] == [ATTACHED], path


# What has public names has a stub, which says where they come from.
STUBS = sorted(PACKAGE.rglob("*.pyi"))
ATTACHED = "__all__, __getattr__, __dir__ = attach(__name__, __file__)"


def test_rooms_hold_nothing_but_their_public_names():
    for path in PACKAGE.rglob("__init__.py"):
        code = ast.parse(path.read_text(encoding="utf-8")).body
        if path.with_suffix(".pyi") in STUBS:
            assert [ast.unparse(line) for line in code[2:]] == [ATTACHED], path
        else:
            assert code == [], path


def test_public_names_are_sorted_and_all_resolve():
    for stub in STUBS:
        homes = homes_in(str(stub))
        parts = stub.relative_to(PACKAGE).with_suffix("").parts
        package = import_module(".".join(["hmetad", *parts]).removesuffix(".__init__"))
        assert package.__all__ == sorted(package.__all__)
        assert dir(package) == sorted(homes)
        for name in homes:
            assert getattr(package, name).__doc__, name


# Modules that are public themselves; all other public names stand in stubs.
PUBLIC_MODULES = ["datasets.py", "norms.py"]


def test_stubs_and_public_modules_alone_list_public_names():
    listing = [
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        if path.with_suffix(".pyi") not in STUBS
        and any(ast.unparse(line).startswith("__all__") for line in parsed(path).body)
    ]
    assert listing == PUBLIC_MODULES


def test_stubs_name_the_modules_that_define_their_names():
    for stub in STUBS:
        for name, home in homes_in(str(stub)).items():
            value = getattr(import_module(home), name)
            if callable(value):
                assert value.__module__ in {home, "hmetad"}, name


def test_few_names_stand_at_the_top_and_none_is_called_like_a_module_beside_it():
    assert len(hmetad.__all__) <= 40
    for stub in STUBS:
        beside = (
            {path.stem for path in stub.parent.glob("*.py")} if stub.stem == "__init__" else set()
        )
        homes = homes_in(str(stub))
        assert not {name for name in homes if name in beside and homes[name] != "hmetad"}


def test_importing_the_package_imports_nothing_third_party():
    code = (
        "import sys; before = set(sys.modules); import hmetad; "
        "print([m for m in set(sys.modules) - before "
        "if m.split('.')[0] not in sys.stdlib_module_names and m.split('.')[0] != 'hmetad'])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == "[]"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        _ = hmetad.fitt
