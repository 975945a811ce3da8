# SPDX-License-Identifier: GPL-2.0-only
"""`new`: a valid file, never overwritten, in which every misspelt key is reported."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
import yaml

from airtcp import cli
from airtcp.errors import InputError
from airtcp.experiment import template
from airtcp.experiment.experiment import Experiment
from airtcp.experiment.reader import load
from airtcp.experiment.schema import schema
from airtcp.experiment.template import SCHEMA
from airtcp.paths import REPOSITORY


def written(directory: Path) -> Path:
    return template.write(str(directory / "mine"))[0]


def test_template_is_valid_and_has_every_section(tmp_path: Path) -> None:
    path, schema_path = template.write(str(tmp_path / "mine.yaml"))
    experiment = load(path)
    assert experiment.name == "mine"
    # docs/reference/topologies.md has an example of these; `reading_of` needs two experiments.
    others = {"topology", "flows", "schedule", "reading_of"}
    assert experiment.model_fields_set == Experiment.model_fields.keys() - others
    assert len(experiment.cases()) == 4
    assert experiment.parameters.duration_s == 10
    cases = experiment.published_for(experiment.cases())
    published = [values.get("goodput_mbps") for values in cases]
    assert [value.value if value else None for value in published] == [9, 47.8, 9.41, None]
    text = path.read_text()
    assert text.startswith(f"# yaml-language-server: $schema={schema_path.name}\n")
    assert max(map(len, text.splitlines())) <= 100
    jsonschema.validate(yaml.safe_load(text), schema())


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    path, schema_path = template.write(str(tmp_path / "mine"))
    path.write_text("mine")
    schema_path.write_text("{}")
    with pytest.raises(InputError, match=r"mine\.yaml: already exists; not overwritten"):
        template.write(str(tmp_path / "mine"))
    assert template.write(str(tmp_path / "other")) == [tmp_path / "other.yaml"]
    assert (path.read_text(), schema_path.read_text()) == ("mine", "{}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("My Own", "'My Own' is not a name; allowed"),
        ("no/mine", "no/mine.yaml: the directory no does not exist"),
        *(
            (name, f"^new {name}: '{name}' is not allowed, as .* results/{name}; give another name")
            for name in ("all", "tournament", "demo", "deb")
        ),
    ],
)
def test_a_bad_name_is_an_error(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        template.write(name)
    assert list(tmp_path.iterdir()) == []


def test_template_is_written_to_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AIRTCP_PROGRAM", raising=False)
    assert cli.main(["new", "mine"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == ["mine.yaml", SCHEMA]
    assert captured.err == "next: ./airtcp run mine.yaml\n"
    assert cli.main(["show", "mine.yaml"]) == 0
    capsys.readouterr()
    assert cli.main(["show", "mine"]) == 2
    assert "did you mean 'mine.yaml'? " in capsys.readouterr().err


def test_the_next_command_is_as_the_user_calls_airtcp(tmp_path: Path) -> None:
    program = REPOSITORY / "airtcp"
    done = subprocess.run([program, "new", "mine"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, f"next: {program} run mine.yaml\n")


def test_names_of_known_experiments_are_not_allowed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tsq-size is an experiment of airtcp"):
        template.write(str(tmp_path / "tsq-size.yaml"))
    assert list(tmp_path.iterdir()) == []


def keys(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Every key at every depth."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield from keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from keys(value)


def misspelt(word: str) -> str:
    """The word with two letters swapped, or with the last letter doubled if it is short."""
    if len(word) < 4:
        return word + word[-1]
    middle = len(word) // 2
    return word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]


def test_misspelt_keys_are_reported_with_line_and_suggestion(tmp_path: Path) -> None:
    path = written(tmp_path)
    text = path.read_text()
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert root is not None
    found = list(keys(root))
    assert len(found) > 40
    for key in found:
        wrong = misspelt(key.value)
        start, end = key.start_mark.index, key.end_mark.index
        path.write_text(text[:start] + wrong + text[end:])
        with pytest.raises(InputError) as error:
            load(path)
        message = str(error.value)
        place, _, rest = message.partition(": ")
        assert place == f"{path}:{key.start_mark.line + 1}", message
        assert rest.partition(": ")[0].endswith(wrong), message
        assert f"; did you mean {key.value!r}? allowed: " in message, message
        assert "\n" not in message
        assert len(message.removeprefix(str(path))) < 600, message
