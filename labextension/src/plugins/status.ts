// The side panel: devices and open sessions of the kernel that belongs to what is in front.
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

// Evaluated in the kernel; one that has not imported tfnb is left as it is.
const ASK =
  "__import__('importlib').import_module('tfnb.notebook.status').report() " +
  "if 'tfnb' in __import__('sys').modules else None";

class StatusPanel extends Widget {
  private session: ISessionContext | undefined;
  private kernel: Kernel.IKernelConnection | undefined;
  private ran = false;
  private asking = false;
  private readonly body = h("div");
  private readonly told = h("p", { role: "status" });

  constructor() {
    super();
    this.id = "tfnb-status";
    this.addClass("tfnb-panel");
    this.title.icon = tfnbIcon;
    this.title.caption = "tfnb: sessions and devices";
    this.node.setAttribute("role", "region");
    this.node.setAttribute("aria-label", this.title.caption);
    const refresh = button("Refresh", "ask the kernel again", () => void this.refresh());
    this.node.append(refresh, this.told, this.body);
  }

  /** What is in front has another session, or none: then the last one stays. */
  follow(session: ISessionContext | undefined): void {
    if (!session || session === this.session) return;
    this.session?.kernelChanged.disconnect(this.kernelChanged, this);
    this.session = session;
    session.kernelChanged.connect(this.kernelChanged, this);
    session.disposed.connect(() => this.lose(session));
    this.kernelChanged();
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    void this.refresh();
  }

  private lose(session: ISessionContext): void {
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
    this.kernel?.iopubMessage.disconnect(this.heard, this);
    this.kernel = kernel;
    kernel?.iopubMessage.connect(this.heard, this);
  }

  // A cell began, or what was running has ended; our own question is silent and begins nothing.
  private heard(_: unknown, message: KernelMessage.IIOPubMessage): void {
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
    if (!kernel) return this.say("Open a notebook to see the devices and sessions of its kernel.");
    if (kernel.status !== "idle") {
      this.ran = true; // asked when it is idle
      const known = this.body.childElementCount > 0;
      return this.tell(
        known ? "The kernel is busy: this is its last known state." : "The kernel is busy.",
      );
    }
    this.asking = true;
    try {
      const found = await ask(kernel);
      if (found) {
        this.tell(this.session?.path ?? "");
        this.body.replaceChildren(...showReport(found));
      } else this.say("This kernel has not imported tfnb.");
    } catch (fault) {
      this.say(
        `The kernel did not answer: ${fault instanceof Error ? fault.message : String(fault)}`,
      );
    } finally {
      this.asking = false;
    }
  }

  private say(text: string): void {
    this.tell(text);
    this.body.replaceChildren();
  }

  private tell(text: string): void {
    this.told.textContent = text;
  }
}

async function ask(kernel: Kernel.IKernelConnection): Promise<Report | null> {
  const future = kernel.requestExecute({
    code: "",
    silent: true,
    store_history: false,
    user_expressions: { tfnb: ASK },
  });
  const { content } = await future.done;
  if (content.status !== "ok") throw new Error(`the request ended with ${content.status}`);
  const found = content.user_expressions.tfnb as
    | { status: string; evalue?: string; data?: Record<string, string> }
    | undefined;
  if (found?.status !== "ok") throw new Error(found?.evalue ?? "no answer");
  const text = found.data?.["text/plain"] ?? "None";
  return text === "None" ? null : (JSON.parse(text) as Report);
}

const status: JupyterFrontEndPlugin<void> = {
  id: "tfnb:status",
  description: "A side panel with the sessions and devices of a kernel.",
  autoStart: true,
  optional: [ILabShell],
  activate(app: JupyterFrontEnd, shell: ILabShell | null) {
    addStyle();
    if (!shell) return;
    const panel = new StatusPanel();
    const follow = () => {
      // Notebooks have it in their context, consoles themselves.
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
