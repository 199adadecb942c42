"""`[system]` of a campaign file: what a program of the user's can have, and what is for nodes of ours."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kcontroller_chaos.backends import backend
from kcontroller_chaos.campaign.file import Campaign, load_campaign
from kcontroller_chaos.judge.verdict import verdicts
from pytest_kcontroller.errors import NotOnThisBackend, UsageError
from pytest_kcontroller.model.history import FALLEN

HEAD = '[campaign]\nname = "mine"\nduration_s = 20\n'
SYSTEM = f"[system]\ncommand = '{sys.executable} -c pass --zk {{zk}} --id {{id}}'\n"
FAULT = '[[faults]]\nkind = "pause"\ntarget = "owner-of:/my/leader"\nat_s = 2\n'


def loaded(tmp_path: Path, text: str) -> Campaign:
    file = tmp_path / "campaign.toml"
    file.write_text(HEAD + text, encoding="utf-8")
    return load_campaign(file)


def test_a_file_with_a_program(tmp_path: Path) -> None:
    campaign = loaded(tmp_path, SYSTEM + 'ready = "znode:/my/members/{id}"\n' + FAULT)
    assert campaign.program is not None
    assert campaign.program.command == (sys.executable, "-c", "pass", "--zk", "{zk}", "--id", "{id}")
    assert str(campaign.program.ready) == "znode:/my/members/{id}"
    assert campaign.needs == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[system]\n", "campaign.toml:4: `system.command`: the key `command` is missing"),
        ('[system]\ncommand = ""\n', "campaign.toml:5: `system.command`: the command is empty"),
        ('[system]\ncommand = "it\'s"\n', '`system.command`: "it\'s" cannot be read: No closing quotation'),
        ('[system]\ncommand = "no-such-program"\n', "there is no program 'no-such-program' on the path"),
        ('[system]\ncommand = "./no-such-program"\n', "there is no program './no-such-program' in "),
        ('[system]\ncommand = "$HOME/x {zk}"\n', "so $HOME is nothing but these letters: write the path, or sh -c"),
        ('[system]\ncommand = "~/x {zk}"\n', "so ~ is nothing but these letters"),
        (
            "[system]\ncommand = \"sh -c 'exec java -jar $JAR'\"\n",
            "campaign.toml:5: `system.command`: neither the command nor env has {zk}: the program does not know",
        ),
        (SYSTEM + 'ready = "znode:/my/{id"\n', "`system.ready`: {id has no closing brace"),
        (SYSTEM + 'ready = "znode:/my/id}"\n', "`system.ready`: '/my/id}' has a brace alone"),
        (
            SYSTEM.replace("{zk}", "{zookeeper}"),
            "campaign.toml:5: `system.command`: nothing is filled in for {zookeeper}\n  -> ",
        ),
        (SYSTEM + 'ready = "zonde:/x"\n', "`system.ready`: 'zonde:/x' is no readiness\n  -> did you mean `znode`?"),
        (SYSTEM + 'ready = "znode"\n', "`system.ready`: 'znode' is no readiness\n  -> write 'znode:/a/path'"),
        (SYSTEM + 'ready = "znode:x"\n', "`system.ready`: 'x' is no path of a znode"),
        (SYSTEM + 'ready = "port:80"\n', "`system.ready`: 'port:80' is no readiness\n  -> write 'port'"),
        (
            SYSTEM + 'ready = "port"\n',
            "`system.ready`: neither the command nor env has {port} or {peers}: the program does not know where to listen",
        ),
        (SYSTEM.replace("{id}", "{id"), "`system.command`: {id has no closing brace\n  -> write {id}"),
        (SYSTEM.replace("{id}", "n-{id.{zk}"), "{id has no closing brace"),
        (SYSTEM + 'ready = "log:up {peer:1"\n', "`system.ready`: {peer:1 has no closing brace"),
        *(
            (
                SYSTEM.replace("--id", f"{word} --id"),
                f"`system.command`: no shell runs, so the program would get {word!r} as an argument\n  -> write sh -c",
            )
            for word in ("|", "||", "&&", ";", "&", ">", ">>out.log", "2>&1", "2>/dev/null", "<in")
        ),
        (SYSTEM + 'stop_signal = "SIGKILL"\n', "`system.stop_signal`: 'SIGKILL' is not known"),
        (SYSTEM + 'directory = "/no/such"\n', "`system.directory`: there is no directory /no/such"),
        (
            SYSTEM + 'env = { "A=B" = "1" }\n',
            "campaign.toml:6: `system.env`: 'A=B' is no name of a variable\n  -> a name is a text that",
        ),
        (SYSTEM + '[system.env]\n"" = "1"\n', "campaign.toml:6: `system.env`: '' is no name of a variable"),
        (SYSTEM + 'env = { "A\\u0000" = "1" }\n', "`system.env`: 'A\\x00' is no name of a variable"),
        (
            SYSTEM + 'env = { A = "\\u0000" }\n',
            "`system.env`: the value of A has a NUL in it, which no process can be given",
        ),
        (
            SYSTEM + "env = { A = 1 }\n",
            '`system.env`: the value of A is of type int, and must be a text\n  -> write it in quotes: A = "..."',
        ),
        ('[system]\ncommand = "true \\u0000 {zk}"\n', "`system.command`: '\\x00' has a NUL in it"),
        (SYSTEM + 'directory = "\\u0000"\n', "`system.directory`: '\\x00' has a NUL in it"),
        (SYSTEM + "[cluster]\nlog_dirs = 2\n", "campaign.toml:7: `cluster.log_dirs`: [system] has programs of yours"),
        (SYSTEM + "[cluster]\nconfig = {}\n", "campaign.toml:7: `cluster.config`: [system] has programs of yours"),
        (SYSTEM + '[[topics]]\nname = "t"\n', "campaign.toml:7: `topics.name`: [system] has programs of yours as"),
        (
            SYSTEM + '[[workload]]\nkind = "admin"\naction = "create_topic"\nat_s = 1\ntopic = "t"\n',
            "campaign.toml:8: `workload.action`: the action create_topic needs what a program of yours has not: brokers",
        ),
        (
            SYSTEM + FAULT.replace("owner-of:/my/leader", "controller"),
            "`faults.target`: the target 'controller' is of nodes of ours\n  -> one of owner-of:/a/znode, random, node:N",
        ),
        (
            SYSTEM + FAULT.replace('target = "owner-of:/my/leader"\n', ""),
            "campaign.toml:6: `faults.target`: the key `target` is missing\n  -> one of owner-of:/a/znode, random, node:N",
        ),
        (
            SYSTEM + FAULT.replace("owner-of:/my", "owner_of:/my"),
            "`faults.target`: 'owner_of:/my/leader' is no target\n  -> did you mean `owner-of:/a/znode`?",
        ),
        (SYSTEM + FAULT.replace("owner-of:/my/leader", "all"), "\n  -> there are: node:N, owner-of:/a/znode, random"),
        (SYSTEM + FAULT.replace("/my/leader", "/my/"), "'owner-of:/my/' names no znode: no part of a path is empty"),
        (SYSTEM + FAULT.replace("/my/leader", "/my/*"), "'owner-of:/my/*' names no znode: it is one znode, or the"),
        (SYSTEM + FAULT.replace("/my/leader", "leader"), "'owner-of:leader' names no znode: a path begins with /"),
        (
            SYSTEM + FAULT.replace("pause", "hold"),
            "`faults.kind`: the fault hold needs what a program of yours has not: hold points",
        ),
        (
            SYSTEM + FAULT.replace("pause", "partition"),
            "partition:control needs what a program of yours has not: links between nodes (nodes reach each other over "
            "proxies)\n  -> name {peers} in its command or env; or `mode = ",
        ),
        (SYSTEM.replace("{zk}", "{peer:3}"), "`system.command`: {peer:3} is no node: there are 3\n  -> ids are 0 to 2"),
        (SYSTEM.replace("{zk}", "{peer}"), "nothing is filled in for {peer}\n  -> did you mean `peers`?"),
        (SYSTEM + FAULT.replace("pause", "partition"), 'or `mode = "zookeeper"` or another kind'),
        (SYSTEM + FAULT.replace("pause", "clock_jump"), "\n  -> another kind"),
        (
            SYSTEM + FAULT.replace("at_s = 2", 'when = "epoch.changed"'),
            "`faults.when`: the trigger 'epoch.changed' is of nodes of ours\n  -> observed:FAULT, healed:FAULT",
        ),
        (
            SYSTEM + '[generator]\nfaults = ["pause", "depose"]\n',
            "`generator.faults`: the fault depose needs what a program of yours has not: brokers",
        ),
        (
            SYSTEM + '[generator]\nfaults = ["pause"]\n',
            '`generator.targets`: the key `targets` is missing\n  -> targets = ["owner-of:/a/znode", "random"], or one of',
        ),
        (
            SYSTEM + '[generator]\nfaults = ["pause"]\ntargets = ["others"]\n',
            "`generator.targets`: the target 'others' is of nodes of ours\n  -> targets = [",
        ),
        (
            SYSTEM + '[generator]\nfaults = ["pause"]\ntargets = ["owner_of:/x"]\n',
            "'owner_of:/x' is not known\n  -> did you mean `owner-of:/a/znode`?",
        ),
        (
            SYSTEM + '[generator]\nfaults = ["pause"]\ntargets = ["owner-of:/x/*"]\n',
            "`generator.targets`: 'owner-of:/x/*' names no znode",
        ),
    ],
)
def test_what_is_wrong_has_file_line_and_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        loaded(tmp_path, text)
    assert message in str(refused.value)


def test_what_a_program_can_have_is_offered_and_nothing_else(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'freeze' is not known\n  -> there are: ") as refused:
        loaded(tmp_path, SYSTEM + FAULT.replace("pause", "freeze"))
    offered = str(refused.value).partition("there are: ")[2].partition(";")[0].split(", ")
    assert {"pause", "kill", "latency", "session_expiry"} <= {*offered}
    assert not {"depose", "hold", "clock_jump", "disconnect"} & {*offered}
    in_image = '[system]\nimage = "mine:1"\ncommand = "{zk}"\n'
    with pytest.raises(UsageError, match="disconnect"):
        loaded(tmp_path, in_image + FAULT.replace("pause", "freeze"))


@pytest.mark.parametrize("place", ["{peers}", "{peer:2}"])
def test_a_program_that_is_told_of_others_has_links_to_them(tmp_path: Path, place: str) -> None:
    generator = '[generator]\nfaults = ["latency"]\ntargets = ["random"]\n'
    for told in (SYSTEM.replace("{id}", place), SYSTEM + f"env = {{ OTHERS = '{place}' }}\n"):
        campaign = loaded(tmp_path, told + FAULT.replace("pause", "partition") + generator)
        assert campaign.faults[0].fault.mode == "control"


def test_braces_of_the_program_itself_are_left_alone(tmp_path: Path) -> None:
    command = f"[system]\ncommand = '''{sys.executable} '{{\"a\": {{1}}}}' ${{HOME}} {{{{id}}}} {{zk}}'''\n"
    assert loaded(tmp_path, command).program is not None
    filters = f"[system]\ncommand = '{sys.executable} \"{{port: 9}}\" {{id}} {{zk}}'\n"
    assert loaded(tmp_path, filters).program is not None


def test_what_is_quoted_is_meant_for_the_program(tmp_path: Path) -> None:
    words = "-d ';' -e \"> 5\" a\\>b \\| {zk}"
    program = loaded(tmp_path, f"[system]\ncommand = '''{sys.executable} {words}'''\n").program
    assert program is not None and program.command[1:] == ("-d", ";", "-e", "> 5", "a>b", "|", "{zk}")


def test_a_jar_that_is_not_built_is_told_before_anything_starts(tmp_path: Path) -> None:
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    command = f"[system]\ncommand = '{java} -Xmx1g -jar {tmp_path}/service.jar {{zk}}'\n"
    with pytest.raises(UsageError, match=r"there is no file '.*/service.jar' in /.*\n  -> it is read from"):
        loaded(tmp_path, command)
    (tmp_path / "service.jar").touch()
    assert loaded(tmp_path, command).program is not None


def test_a_generator_may_draw_owners(tmp_path: Path) -> None:
    drawn = '[generator]\nfaults = ["pause", "kill"]\ntargets = ["owner-of:/my/leader", "random"]\n'
    assert loaded(tmp_path, SYSTEM + drawn).generator is not None


@pytest.mark.parametrize("name", ["sim", "kafka"])
def test_a_backend_without_programs_says_which_has_them(name: str) -> None:
    with pytest.raises(
        NotOnThisBackend, match=r"has no nodes that are programs of yours\n  -> use the backend process"
    ):
        backend(name).check_runs_programs()


def test_what_is_in_an_image_runs_in_containers_and_nothing_else_does(tmp_path: Path) -> None:
    text = '[system]\nimage = "mine:1"\ncommand = ""\nenv = { ZK = "{zk}" }\n' + FAULT.replace("pause", "memory_limit")
    program = loaded(tmp_path, text).program
    assert program is not None and (program.image, program.command) == ("mine:1", ())
    backend("docker").check_runs_programs(in_image=True)
    with pytest.raises(
        NotOnThisBackend, match=r"process runs no program that is in an image\n  -> use the backend docker"
    ):
        backend("process").check_runs_programs(in_image=True)
    with pytest.raises(
        NotOnThisBackend, match=r"docker runs no program that is in no image\n  -> use the backend process"
    ):
        backend("docker").check_runs_programs()


def test_rules_about_brokers_do_not_judge_a_program() -> None:
    from kcontroller_chaos.history.read import in_order
    from kcontroller_chaos.invariants import for_run, kcontroller_invariants

    judged = for_run([made() for made in kcontroller_invariants()], program=True)
    assert [one.name for one in judged] == ["nodes-stay-up"]
    ready = {"writer": "engine", "seq": 1, "t_us": 9, "kind": "node.ready", "node": 0, "why": ""}
    killed = {"writer": "engine", "seq": 0, "t_us": 3, "kind": "test.action", "action": "kill", "arguments": "0"}
    exited = {"writer": "engine", "seq": 3, "t_us": 4, "kind": "process.exited", "node": 0, "status": -9}
    again = {**exited, "seq": 4, "t_us": 5, "status": 1}
    ended = {"writer": "engine", "seq": 2, "t_us": 9, "kind": "run.ended"}
    (entry,) = verdicts(in_order([ready, ended]), invariants=judged)["invariants"]
    assert (entry["verdict"], entry["checks"]) == ("held", 1)
    (entry,) = verdicts(in_order([{**ready, "why": "it has no session"}, ended]), invariants=judged)["invariants"]
    assert (entry["verdict"], entry["seen"]) == ("violated", "node 0 runs, and is not ready again: it has no session")
    (entry,) = verdicts(in_order([killed, exited, ready, ended]), invariants=judged)["invariants"]
    assert entry["verdict"] == "held", "the test has ended it"
    stop = {"kind": "fault.asked", "fault": "s", "fault_kind": "graceful_stop", "node": 0, "ends_process": True}
    asked = {"writer": "engine", "seq": 6, "t_us": 2, **stop, "nodes": [0], "statuses": []}
    healed = {**asked, "seq": 7, "t_us": 6, "kind": "fault.healed"}
    fallen = {**ready, "why": FALLEN}
    (entry,) = verdicts(in_order([asked, exited, again, healed, fallen, ended]), invariants=judged)["invariants"]
    assert (entry["verdict"], entry["seen"]) == ("violated", "node 0 was started again, and has ended by itself")
    (entry,) = verdicts(in_order([asked, exited, fallen, ended]), invariants=judged)["invariants"]
    assert entry["verdict"] == "held", "the fault goes on"
    skipped = {**healed, "kind": "fault.skipped"}
    (entry,) = verdicts(in_order([asked, exited, skipped, fallen, ended]), invariants=judged)["invariants"]
    assert entry["verdict"] == "violated", "it was skipped"
    respawned = {"writer": "engine", "seq": 5, "t_us": 6, "kind": "node.respawned", "node": 0}
    (entry,) = verdicts(in_order([killed, exited, again, respawned, ready, ended]), invariants=judged)["invariants"]
    assert entry["verdict"] == "held", "it was started again, as it is to be"
    (entry,) = verdicts(in_order([killed, exited, again, ready, ended]), invariants=judged)["invariants"]
    assert (entry["verdict"], entry["seen"]) == ("violated", "node 0 ended with status 1")
