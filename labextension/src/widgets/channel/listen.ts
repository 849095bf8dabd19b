// Lets a model receive messages also where the page was too busy to load its module in time.
//
// anywidget gives a model two seconds (fixed) from its making until `initialize` is done. After that it throws away
// every message to the model, for ever. A page that is being reloaded makes all models of the kernel while it starts,
// and easily takes longer. So `initialize` gives the model the handler of its base class again, which waits for nothing.
import type { AnyModel } from "@anywidget/types";

type Handler = (message: unknown) => unknown;
interface RealModel {
  comm?: { on_msg(heard: Handler): void };
  _handle_comm_msg: Handler;
}
interface Manager {
  has_model?(id: string): boolean;
  get_model(id: string): Promise<unknown>;
}

/** To be awaited in `initialize`, when its own listeners are in place; `id` is the model's id. */
export async function listen(model: AnyModel, id: string): Promise<void> {
  const manager = model.widget_manager as unknown as Manager;
  try {
    if (!manager.has_model?.(id)) return;
    const real = (await manager.get_model(id)) as RealModel | undefined;
    const base = real && Object.getPrototypeOf(Object.getPrototypeOf(real));
    if (typeof base?._handle_comm_msg === "function") {
      real?.comm?.on_msg((message) => base._handle_comm_msg.call(real, message));
    }
  } catch {
    // Another manager, which keeps models elsewhere: it stays as anywidget made it.
  }
}
