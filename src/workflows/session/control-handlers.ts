import { setHandler } from "@temporalio/workflow";
import type { CallRunner } from "./call-runner.js";
import { checkCallIdOf, checkExtend, checkNetwork, checkStop, type Checked } from "./envelope.js";
import { toApplicationFailure } from "./failures.js";
import { limits } from "../../contract/names.js";
import type { CollectResult, UploadResult } from "../../contract/messages.js";
import type { Failure } from "../../contract/refs.js";
import {
  collectOutputsUpdate,
  controlNames,
  controlSignal,
  controlUpdate,
  stateQuery,
  uploadUpdate,
  type ControlName,
} from "./messages.js";
import type { SessionContext } from "./session-context.js";
import { sessionView } from "./views.js";

/**
 * stop, resume, delete and their like, as signal and as update. Both only write down a wish, which the main
 * loop fulfils; the update returns at once.
 */
export function registerControlHandlers(context: SessionContext, runner: CallRunner): void {
  const { state } = context;

  const wishes: Record<ControlName, (value: unknown) => Checked<() => void>> = {
    cancelCall: (value) => then(checkCallIdOf(value), cancelCall),
    stop: (value) =>
      then(checkStop(value), (wish) => {
        state.apply({ type: "stop-wanted", ...wish });
      }),
    resume: () =>
      accepted(() => {
        state.apply({ type: "resume-wanted" });
      }),
    delete: () =>
      accepted(() => {
        state.apply({ type: "delete-wanted", reason: "requested" });
      }),
    extend: (value) =>
      then(checkExtend(value), (timeouts) => {
        state.apply({ type: "extend", timeouts });
      }),
    setNetworkPolicy: (value) =>
      then(checkNetwork(value), ({ network }) => {
        state.apply({ type: "network-wanted", network });
      }),
  };

  for (const name of controlNames) {
    const wish = wishes[name];
    const check = (value: unknown) => {
      const checked = wish(value);
      const failure = checked.ok ? refusalOf(name) : checked.failure;
      return failure === undefined ? checked : { ok: false as const, failure };
    };
    setHandler(controlSignal(name), (value) => {
      const checked = check(value);
      if (checked.ok) checked.value();
      else state.reject(checked.failure);
      context.changed();
    });
    setHandler(
      controlUpdate(name),
      (value) => {
        context.updates += 1;
        const checked = check(value);
        if (!checked.ok) throw toApplicationFailure(checked.failure);
        checked.value();
        context.changed();
        return { accepted: true, status: state.lifecycle.status };
      },
      {
        validator: (value) => {
          const checked = check(value);
          if (!checked.ok) throw toApplicationFailure(checked.failure);
        },
      },
    );
  }

  setHandler(stateQuery, () => sessionView(state));
  const refuseFiles = (): never => {
    throw toApplicationFailure(noFileTransfer);
  };
  const whenFilesAreRefused = { validator: refuseFiles };
  setHandler<UploadResult, [unknown], typeof uploadUpdate>(uploadUpdate, refuseFiles, whenFilesAreRefused);
  setHandler<CollectResult, [unknown], typeof collectOutputsUpdate>(
    collectOutputsUpdate,
    refuseFiles,
    whenFilesAreRefused,
  );

  function cancelCall({ callId }: { callId: string }): void {
    const record = state.calls.get(callId);
    if (record !== undefined) runner.cancel(record, "cancelCall");
    else if (state.strayKills.length < limits.rejectedKept) state.strayKills.push(callId);
  }

  function refusalOf(name: ControlName): Failure | undefined {
    const { placement } = state.belongings;
    if (name !== "setNetworkPolicy" || placement === undefined) return undefined;
    if (placement.capabilities.networkSwitch) return undefined;
    return {
      code: "unsupported",
      field: "network",
      message: `provider ${placement.spec.provider} can't change the network of a running session`,
      hint: "Start a new session with the network it needs.",
    };
  }
}

const noFileTransfer: Failure = {
  code: "unsupported",
  message: "this version moves no files by upload or collectOutputs",
  hint: "Use the tools read and write.",
};

const accepted = (act: () => void): Checked<() => void> => ({ ok: true, value: act });

const then = <T>(checked: Checked<T>, act: (value: T) => void): Checked<() => void> =>
  checked.ok
    ? accepted(() => {
        act(checked.value);
      })
    : checked;
