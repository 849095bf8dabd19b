// Lets a model receive messages also if the page was too busy to load its module in time.
//
// anywidget allows two seconds (a constant) from the creation of a model to the end of `initialize`, and discards every
// later message to the model. A page that is being reloaded creates all models of the kernel while it starts, and may
// take longer. So `initialize` restores the message handler of the base class, which has no time limit.
import type { AnyModel } from "@anywidget/types";

type Handler = (message: unknown) => unknown;
interface RealModel {
  comm?: { on_msg(handler: Handler): void; jsServicesComm?: { readonly isDisposed: boolean } };
  _handle_comm_msg: Handler;
}
interface Manager {
  has_model?(id: string): boolean;
  get_model(id: string): Promise<unknown>;
}

/** Restores the handler. `initialize` awaits it after registering its own listeners; `id` is the id of the model.
 *
 * Returns a function that tells whether the connection to the kernel is closed, as far as that can be known.
 */
export async function listen(model: AnyModel, id: string): Promise<() => boolean> {
  const manager = model.widget_manager as unknown as Manager;
  try {
    if (!manager.has_model?.(id)) return () => false;
    const real = (await manager.get_model(id)) as RealModel | undefined;
    const base = real && Object.getPrototypeOf(Object.getPrototypeOf(real));
    if (typeof base?._handle_comm_msg === "function") {
      real?.comm?.on_msg((message) => base._handle_comm_msg.call(real, message));
    }
    return () => real?.comm?.jsServicesComm?.isDisposed ?? false;
  } catch {
    // Another widget manager, which stores models elsewhere: the model keeps the handler of anywidget.
    return () => false;
  }
}
