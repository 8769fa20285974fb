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
from simulation.cluster_instance import ClusterInstanceError
from simulation.core import actions as do
from simulation.core.journal_edits import edited
from simulation.core.references import ALL
from simulation.run.patience import pause_s
from simulation.run.run_context import RunContext, StepError, WrongWriter

LOOK_EVERY_MS: Final = 50


async def _fault(context: RunContext, action: do.Fault) -> None:
    rule = action.rule
    if isinstance(rule, DiskFault):
        rule = replace(rule, node=context.node(rule.node))
        broker = broker_id_of(rule.node)
        if broker is not None and rule.log_dir is not None:
            rule = replace(rule, log_dir=context.path(broker, rule.log_dir))
    await context.cluster.add_fault(action.name, rule)
    context.active_faults[action.name] = rule
    if isinstance(rule, DiskFault) and rule.mode.row.damage is DamageLasts.UNTIL_REPLACED:
        _remember_wrong_writers(context, action.name, rule)


def _remember_wrong_writers(context: RunContext, name: str, rule: DiskFault) -> None:
    broker = broker_id_of(rule.node)
    assert broker is not None, f"{name} is on {rule.node}"
    for log_dir in context.cluster.spec.broker(broker).log_dirs:
        if rule.log_dir in {None, log_dir.path}:
            context.wrong_writers[WrongWriter(name, broker, log_dir.path)] = None


async def _clear(context: RunContext, action: do.Clear) -> None:
    name = action.fault
    if name == ALL:
        for each in list(context.active_faults):
            await _take_off(context, each)
    elif name not in context.active_faults:
        raise StepError(f"{name} is not in force")
    elif action.once_met and name in await context.unmet_faults():
        context.group.create_task(_clear_once_met(context, name), name=f"clear {name}")
    else:
        await _take_off(context, name)


async def _clear_once_met(context: RunContext, name: str) -> None:
    began_ms = context.cluster.now_ms()
    while True:
        if name not in await context.unmet_faults():
            await _take_off(context, name)
            return
        await asyncio.sleep(pause_s(context.cluster.now_ms() - began_ms, LOOK_EVERY_MS))


async def _take_off(context: RunContext, name: str) -> None:
    if context.active_faults.pop(name, None) is not None:
        await context.cluster.clear_fault(name)


async def _kill(context: RunContext, action: do.Kill) -> None:
    await context.cluster.kill_node(context.node(action.node))


async def _stop(context: RunContext, action: do.Stop) -> None:
    """Stop a node; one that does not end in time is killed, lest it ends when nobody expects it.

    So is one that nobody waits for any more. A paused one would end when it goes on, after all
    counts as healed.
    """
    node = context.node(action.node)
    try:
        await context.cluster.stop_node(node)
    except (ClusterInstanceError, asyncio.CancelledError):
        await context.cluster.kill_node(node)
        raise


async def _start(context: RunContext, action: do.Start) -> None:
    await context.cluster.start_node(context.node(action.node))


async def _power_cut(context: RunContext, action: do.PowerCut) -> None:
    await context.cluster.cut_power(context.node(action.node))


async def _pause(context: RunContext, action: do.Pause) -> None:
    await context.cluster.pause_node(context.node(action.node))


async def _resume(context: RunContext, action: do.Resume) -> None:
    await context.cluster.resume_node(context.node(action.node))


async def _slow_cpu(context: RunContext, action: do.SlowCpu) -> None:
    node = context.node(action.node)
    context.touched_nodes[node] = None
    await context.cluster.slow_cpu(node, action.factor)


async def _skew_clock(context: RunContext, action: do.SkewClock) -> None:
    node = context.node(action.node)
    context.touched_nodes[node] = None
    await context.cluster.skew_clock(node, action.by_ms)


async def _restart_log_dir(context: RunContext, action: do.RestartLogDir) -> None:
    broker = context.broker(action.broker)
    await context.cluster.restart_log_dir(broker, context.path(broker, action.log_dir))


async def _replace_log_dir(context: RunContext, action: do.ReplaceLogDir) -> None:
    broker = context.broker(action.broker)
    path = context.path(broker, action.log_dir)
    if context.cluster.node(broker_node(broker)).state != "running":
        raise StepError(f"broker {broker} does not run")
    await context.cluster.replace_log_dir(
        broker,
        path,
        accept_loss=action.accept_loss,
        throttle_bytes_per_second=action.throttle_bytes_per_second,
    )
    await context.forget_wrong_writers(broker, path)


async def _restart_partition(context: RunContext, action: do.RestartPartition) -> None:
    broker = context.broker(action.broker)
    for partition in context.partitions(action.of):
        await context.cluster.restart_partition(broker, partition)


async def _write_file(context: RunContext, action: do.WriteFile) -> None:
    broker = context.broker(action.broker)
    path = context.path(broker, action.log_dir)
    await context.cluster.write_file(broker, path, action.file, action.text)


async def _remove_file(context: RunContext, action: do.RemoveFile) -> None:
    broker = context.broker(action.broker)
    await context.cluster.remove_file(broker, context.path(broker, action.log_dir), action.file)


async def _edit_journal(context: RunContext, action: do.EditJournal) -> None:
    data = await context.cluster.read_journal()
    if action.edit == "copy":
        context.journal_copy = data
        return
    if context.cluster.node(CONTROLLER_NODE).state != "stopped":
        raise StepError("the controller runs: its journal is its own")
    await context.cluster.write_journal(edited(action.edit, data, context.journal_copy))


async def _start_workload(context: RunContext, action: do.StartWorkload) -> None:
    context.workloads.begin(action.workload)


async def _stop_workload(context: RunContext, action: do.StopWorkload) -> None:
    await context.workloads.end(action.workload)


# Any: each takes the class of its row, beyond what a type can say.
BREAKS: Final[Mapping[type, Callable[[RunContext, Any], Awaitable[None]]]] = {
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
