import proto from "@temporalio/proto";
import type { NativeConnection } from "@temporalio/worker";

/** The namespace's UUID: the same for all workers of an installation, and another one's is another. */
export async function namespaceId(connection: NativeConnection, namespace: string): Promise<string> {
  const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace });
  const id = namespaceInfo?.id;
  if (id === undefined || id === null || id === "") {
    throw new Error(`the server gave no id for namespace ${namespace}; set HOLDFAST_OWNER`);
  }
  return id;
}

/** When a worker last polled this queue for activities; null when the server remembers none. */
export async function lastPollMs(
  connection: NativeConnection,
  { namespace, taskQueue }: { namespace: string; taskQueue: string },
): Promise<number | null> {
  const { pollers } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: proto.temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
  });
  const times = pollers.map((poller) => Number(poller.lastAccessTime?.seconds ?? 0) * 1000);
  return times.length === 0 ? null : Math.max(...times);
}
