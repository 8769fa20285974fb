"""What a plan does to nodes, disks, the network and clients. Asks Kafka for nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from protocol.faults.model import (
    CONTROLLER_NODE,
    DamageLasts,
    DiskFault,
    broker_id_of,
    broker_node,
)
from simulation.core import actions as do
from simulation.core.journal_edits import edited
from simulation.core.references import ALL
from simulation.run.scene import Scene, StepError, WrongWriter

LOOK_EVERY_MS: Final = 50


async def _fault(scene: Scene, action: do.Fault) -> None:
    rule = action.rule
    if isinstance(rule, DiskFault):
        rule = replace(rule, node=scene.node(rule.node))
        broker = broker_id_of(rule.node)
        if broker is not None and rule.log_dir is not None:
            rule = replace(rule, log_dir=scene.path(broker, rule.log_dir))
    await scene.stage.add_fault(action.name, rule)
    scene.active_faults[action.name] = rule
    if isinstance(rule, DiskFault) and rule.mode.row.damage is DamageLasts.UNTIL_REPLACED:
        _remember_wrong_writers(scene, action.name, rule)


def _remember_wrong_writers(scene: Scene, name: str, rule: DiskFault) -> None:
    broker = broker_id_of(rule.node)
    assert broker is not None, f"{name} is on {rule.node}"
    for log_dir in scene.stage.spec.broker(broker).log_dirs:
        if rule.log_dir in {None, log_dir.path}:
            scene.wrong_writers[WrongWriter(name, broker, log_dir.path)] = None


async def _clear(scene: Scene, action: do.Clear) -> None:
    name = action.fault
    if name == ALL:
        for each in list(scene.active_faults):
            await _take_off(scene, each)
    elif name not in scene.active_faults:
        raise StepError(f"{name} is not in force")
    elif action.once_met and name in await scene.unmet_faults():
        scene.group.create_task(_clear_once_met(scene, name), name=f"clear {name}")
    else:
        await _take_off(scene, name)


async def _clear_once_met(scene: Scene, name: str) -> None:
    while True:
        if name not in await scene.unmet_faults():
            await _take_off(scene, name)
            return
        await asyncio.sleep(LOOK_EVERY_MS / 1000)


async def _take_off(scene: Scene, name: str) -> None:
    if scene.active_faults.pop(name, None) is not None:
        await scene.stage.clear_fault(name)


async def _kill(scene: Scene, action: do.Kill) -> None:
    await scene.stage.kill_node(scene.node(action.node))


async def _stop(scene: Scene, action: do.Stop) -> None:
    await scene.stage.stop_node(scene.node(action.node))


async def _start(scene: Scene, action: do.Start) -> None:
    await scene.stage.start_node(scene.node(action.node))


async def _power_cut(scene: Scene, action: do.PowerCut) -> None:
    await scene.stage.cut_power(scene.node(action.node))


async def _pause(scene: Scene, action: do.Pause) -> None:
    await scene.stage.pause_node(scene.node(action.node))


async def _resume(scene: Scene, action: do.Resume) -> None:
    await scene.stage.resume_node(scene.node(action.node))


async def _slow_cpu(scene: Scene, action: do.SlowCpu) -> None:
    node = scene.node(action.node)
    scene.touched_nodes[node] = None
    await scene.stage.slow_cpu(node, action.factor)


async def _skew_clock(scene: Scene, action: do.SkewClock) -> None:
    node = scene.node(action.node)
    scene.touched_nodes[node] = None
    await scene.stage.skew_clock(node, action.by_ms)


async def _restart_log_dir(scene: Scene, action: do.RestartLogDir) -> None:
    broker = scene.broker(action.broker)
    await scene.stage.restart_log_dir(broker, scene.path(broker, action.log_dir))


async def _replace_log_dir(scene: Scene, action: do.ReplaceLogDir) -> None:
    broker = scene.broker(action.broker)
    path = scene.path(broker, action.log_dir)
    if scene.stage.node(broker_node(broker)).state != "running":
        raise StepError(f"broker {broker} does not run")
    await scene.stage.replace_log_dir(broker, path, accept_loss=action.accept_loss)
    await scene.forget_wrong_writers(broker, path)


async def _restart_partition(scene: Scene, action: do.RestartPartition) -> None:
    broker = scene.broker(action.broker)
    for partition in scene.partitions(action.of):
        await scene.stage.restart_partition(broker, partition)


async def _write_file(scene: Scene, action: do.WriteFile) -> None:
    broker = scene.broker(action.broker)
    path = scene.path(broker, action.log_dir)
    await scene.stage.write_file(broker, path, action.file, action.text)


async def _remove_file(scene: Scene, action: do.RemoveFile) -> None:
    broker = scene.broker(action.broker)
    await scene.stage.remove_file(broker, scene.path(broker, action.log_dir), action.file)


async def _edit_journal(scene: Scene, action: do.EditJournal) -> None:
    data = await scene.stage.read_journal()
    if action.edit == "copy":
        scene.journal_copy = data
        return
    if scene.stage.node(CONTROLLER_NODE).state != "stopped":
        raise StepError("the controller runs: its journal is its own")
    await scene.stage.write_journal(edited(action.edit, data, scene.journal_copy))


async def _start_workload(scene: Scene, action: do.StartWorkload) -> None:
    scene.workloads.begin(action.workload)


async def _stop_workload(scene: Scene, action: do.StopWorkload) -> None:
    await scene.workloads.end(action.workload)


# Any: each takes the class of its row, beyond what a type can say.
BREAKS: Final[Mapping[type, Callable[[Scene, Any], Awaitable[None]]]] = {
    do.Fault: _fault,
    do.Clear: _clear,
    do.Kill: _kill,
    do.Stop: _stop,
    do.Start: _start,
    do.PowerCut: _power_cut,
    do.Pause: _pause,
    do.Resume: _resume,
    do.SlowCpu: _slow_cpu,
    do.SkewClock: _skew_clock,
    do.RestartLogDir: _restart_log_dir,
    do.ReplaceLogDir: _replace_log_dir,
    do.RestartPartition: _restart_partition,
    do.WriteFile: _write_file,
    do.RemoveFile: _remove_file,
    do.EditJournal: _edit_journal,
    do.StartWorkload: _start_workload,
    do.StopWorkload: _stop_workload,
}
