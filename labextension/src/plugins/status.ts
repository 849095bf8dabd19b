// The side panel: devices, open sessions and caches of the kernel of the notebook or console in front.
import {
  ILabShell,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin,
} from "@jupyterlab/application";
import type { ISessionContext } from "@jupyterlab/apputils";
import type { Kernel, KernelMessage } from "@jupyterlab/services";
import type { Message } from "@lumino/messaging";
import { Widget } from "@lumino/widgets";
import type { Report } from "../protocol/status";
import { button, h } from "../views/dom";
import { showReport } from "../views/status";
import { tfnbIcon } from "./icons";
import { addStyle } from "./page_style";

const REPORT = "report()";

/** The call that empties the caches of a name. JSON's strings mean the same in Python, quotes included. */
function clearCall(name: string | null): string {
  return name === null ? "clear()" : `clear(${JSON.stringify(name)})`;
}

/** A Python expression that makes a call of tfnb.notebook.status, or is None if the kernel has not imported tfnb. */
function expressionOf(call: string): string {
  return (
    `__import__('importlib').import_module('tfnb.notebook.status').${call} ` +
    "if 'tfnb' in __import__('sys').modules else None"
  );
}

class StatusPanel extends Widget {
  private session: ISessionContext | undefined;
  private kernel: Kernel.IKernelConnection | undefined;
  private ran = false;
  private asking = false;
  private readonly body = h("div");
  private readonly line = h("p", { role: "status" });

  constructor() {
    super();
    this.id = "tfnb-status";
    this.addClass("tfnb-panel");
    this.title.icon = tfnbIcon;
    this.title.caption = "tfnb: devices, sessions and caches";
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", this.title.caption);
    const refresh = button("Refresh", "ask the kernel again", () => void this.refresh());
    this.node.append(refresh, this.line, this.body);
  }

  /** Shows the kernel of this session; without one, the panel keeps the last. */
  follow(session: ISessionContext | undefined): void {
    if (!session || session === this.session) return;
    this.session?.kernelChanged.disconnect(this.kernelChanged, this);
    this.session = session;
    session.kernelChanged.connect(this.kernelChanged, this);
    session.disposed.connect(() => this.ended(session));
    this.kernelChanged();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    void this.refresh();
  }

  private ended(session: ISessionContext): void {
    if (this.session !== session) return;
    this.session = undefined;
    this.listen(undefined);
    void this.refresh();
  }

  private kernelChanged(): void {
    this.listen(this.session?.session?.kernel ?? undefined);
    void this.refresh();
  }

  private listen(kernel: Kernel.IKernelConnection | undefined): void {
    this.kernel?.iopubMessage.disconnect(this.received, this);
    this.kernel = kernel;
    kernel?.iopubMessage.connect(this.received, this);
  }

  // Refreshes when the kernel becomes idle after a cell. The panel's own requests are silent: they begin no cell.
  private received(_: unknown, message: KernelMessage.IIOPubMessage): void {
    const { msg_type: type } = message.header;
    if (type === "execute_input") this.ran = true;
    const content = message.content as { execution_state?: string };
    if (type === "status" && content.execution_state === "idle" && this.ran) {
      this.ran = false;
      void this.refresh();
    }
  }

  private async refresh(): Promise<void> {
    if (!this.isVisible || this.asking) return;
    const { kernel } = this;
    if (!kernel)
      return this.showOnly(
        "Open a notebook to see the devices, sessions and caches of its kernel.",
      );
    if (kernel.status !== "idle") {
      this.ran = true; // so that the panel is refreshed when the kernel is idle
      const shown = this.body.childElementCount > 0;
      return this.say(
        shown ? "The kernel is busy: this is its last known state." : "The kernel is busy.",
      );
    }
    await this.request(kernel, REPORT, this.session?.path ?? "");
  }

  private async clear(name: string | null): Promise<void> {
    const { kernel } = this;
    if (!kernel || this.asking) return;
    if (kernel.status !== "idle")
      return this.say("The kernel is busy: caches can be cleared when it is idle.");
    const focused = document.activeElement?.getAttribute("aria-label");
    const done = name === null ? "All caches are cleared." : `Cleared: ${name}.`;
    await this.request(kernel, clearCall(name), done);
    // The buttons are new ones now: the keyboard stays where it was.
    const buttons = [...this.body.querySelectorAll("button")];
    buttons.find((one) => one.getAttribute("aria-label") === focused)?.focus();
  }

  /** Asks the kernel by this call and shows its report, with a line above it. */
  private async request(
    kernel: Kernel.IKernelConnection,
    call: string,
    line: string,
  ): Promise<void> {
    this.asking = true;
    try {
      const report = await ask(kernel, call);
      if (report) {
        this.say(line);
        this.body.replaceChildren(...showReport(report, (name) => void this.clear(name)));
      } else this.showOnly("This kernel has not imported tfnb.");
    } catch (fault) {
      this.showOnly(
        `The kernel did not answer: ${fault instanceof Error ? fault.message : String(fault)}`,
      );
    } finally {
      this.asking = false;
    }
  }

  private showOnly(text: string): void {
    this.say(text);
    this.body.replaceChildren();
  }

  private say(text: string): void {
    this.line.textContent = text;
  }
}

async function ask(kernel: Kernel.IKernelConnection, call: string): Promise<Report | null> {
  const future = kernel.requestExecute({
    code: "",
    silent: true,
    store_history: false,
    user_expressions: { tfnb: expressionOf(call) },
  });
  const { content } = await future.done;
  if (content.status !== "ok") throw new Error(`the request ended with ${content.status}`);
  const answer = content.user_expressions.tfnb as
    | { status: string; evalue?: string; data?: Record<string, string> }
    | undefined;
  if (answer?.status !== "ok") throw new Error(answer?.evalue ?? "no answer");
  const text = answer.data?.["text/plain"] ?? "None";
  return text === "None" ? null : (JSON.parse(text) as Report);
}

const status: JupyterFrontEndPlugin<void> = {
  id: "tfnb:status",
  description: "A side panel with the devices, sessions and caches of a kernel.",
  autoStart: true,
  optional: [ILabShell],
  activate(app: JupyterFrontEnd, shell: ILabShell | null) {
    addStyle();
    if (!shell) return;
    const panel = new StatusPanel();
    const follow = () => {
      // A notebook has its session in its context, a console has it itself.
      const front = shell.currentWidget as
        | (Widget & {
            context?: { sessionContext?: ISessionContext };
            sessionContext?: ISessionContext;
          })
        | null;
      const session = front?.sessionContext ?? front?.context?.sessionContext;
      if (session?.path.endsWith(".ipynb") || front?.sessionContext) panel.follow(session);
    };
    shell.currentChanged.connect(follow);
    shell.add(panel, "left", { rank: 700, type: "tfnb" });
    void app.restored.then(follow);
  },
};

export default status;
