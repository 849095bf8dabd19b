// Run to here and training: asks the kernel, asks the user for feeds that are missing, and keeps what to show.

import type { LossPoint, OutputPort, RunResult } from "../../protocol/builder";
import type { Choice, Question } from "./chooser";
import type { Point } from "./places/geometry";
import type { Panel } from "./state/state";
import type { Workspace } from "./state/workspace";
import { kindOf, lossText, oddText, range } from "./values";

const MOST_POINTS = 5000;
const STEPS = [100, 300, 1000, 3000, 10_000];

export interface Running {
  /** The Python texts of the values that placeholders were given. */
  readonly feeds: Readonly<Record<string, string>>;
  /** Asks for the values of placeholders, then goes on. */
  askFeed(needs: readonly string[], done: () => void): void;
  run(id: string): void;
  train(id: string): void;
  result(result: RunResult): void;
  loss(point: LossPoint): void;
}

export function runner(
  workspace: Workspace,
  choose: (question: Question, at: Point | null) => void,
): Running {
  return new Runner(workspace, choose);
}

class Runner implements Running {
  readonly feeds: Record<string, string> = {};
  /** Starts the last training again, when its feeds have been given. */
  private again = (): void => {};

  constructor(
    private readonly workspace: Workspace,
    private readonly choose: (question: Question, at: Point | null) => void,
  ) {}

  /** Runs a node; one that has been fed before, that is a placeholder, first asks whether for another value. */
  run(id: string): void {
    if (this.feeds[id] === undefined) this.start(id);
    else this.askFeed([id], () => this.start(id));
  }

  private start(id: string): void {
    this.set(id, { kind: "text", result: null, losses: [], isRunning: true });
    this.workspace.say(`running ${id}`);
    this.workspace.session.send({ type: "run", node: id, feeds: { ...this.feeds } });
  }

  result(result: RunResult): void {
    const { node, error, needs, values } = result;
    this.set(node, { kind: kindOf(result), result, losses: [], isRunning: false });
    const [value] = values;
    if (needs.length) {
      if (needs.some((name) => this.feeds[name] !== undefined)) this.workspace.say(error, true);
      this.askFeed(needs, () => this.start(node));
    } else if (error) this.workspace.say(`${node}: ${error}`, true);
    else if (value) {
      const odd = oddText(value);
      const text = value.shape.length ? range(value) : value.text;
      this.workspace.say([`${value.name} is ${text}`, odd].filter(Boolean).join(", "));
    } else this.workspace.say(`${node} has run`);
  }

  /** Asks for one value after the other, then goes on. */
  askFeed(needs: readonly string[], done: () => void): void {
    const [name, ...rest] = needs;
    if (name === undefined) {
      done();
      return;
    }
    const rect = this.workspace.scene.rect(name);
    // A value that is asked for again was wrong, or is to be another one: it is shown, and no longer used.
    const before = this.feeds[name] ?? "";
    delete this.feeds[name];
    const take = (text: string): void => {
      this.feeds[name] = text;
      this.askFeed(rest, done);
    };
    const output = this.workspace.model.nodes.get(name)?.outputs[0];
    const examples = output ? feedsFor(output) : [];
    const title = `Value of ${name}, in Python`;
    const choice = (label: string, detail: string): Choice => ({
      label,
      hint: "",
      detail,
      act: () => take(label),
    });
    const question: Question = {
      title,
      text: before,
      isSelected: true,
      none: title,
      choices: (query) => {
        const text = query.trim();
        const own =
          text && !examples.some(([label]) => label === text) ? [choice(text, title)] : [];
        // The text that was there at the beginning is what Enter takes.
        const first = examples.filter(([label]) => label === text);
        const rest = examples.filter(([label]) => label !== text);
        return [...own, ...[...first, ...rest].map(([label, detail]) => choice(label, detail))];
      },
    };
    this.choose(question, rect && [rect.x, rect.y + rect.height + 6]);
  }

  /** Asks for the loss and the number of steps, and starts; a training that runs is stopped. */
  train(id: string): void {
    const { session, model } = this.workspace;
    const running = [...this.workspace.state.panels].find(([, panel]) => isTraining(panel));
    if (running) {
      session.send({ type: "stop", node: id, loss: running[0], steps: 0, feeds: {} });
      return;
    }
    const above = model.reached(id, "up");
    const losses = model.order
      .filter((name) => above.has(name) && isScalar(model.nodes.get(name)?.outputs[0]?.shape))
      .reverse();
    const start = (loss: string, steps: number): void => {
      this.again = () => start(loss, steps);
      this.set(loss, { kind: "chart", result: null, losses: [], isRunning: true });
      session.send({ type: "train", node: id, loss, steps, feeds: { ...this.feeds } });
      this.workspace.say(`training with ${id} for ${steps} steps`);
    };
    this.askSteps(id, losses, start);
  }

  private askSteps(
    id: string,
    losses: readonly string[],
    start: (loss: string, steps: number) => void,
  ): void {
    const rect = this.workspace.scene.rect(id);
    const at: Point | null = rect && [rect.x, rect.y + rect.height + 6];
    const question: Question = {
      title: "Steps of training, and the loss to show",
      text: String(STEPS[0]),
      isSelected: true,
      none: `no scalar is computed above ${id}: choose a training operation`,
      choices: (query) => {
        const steps = Number.parseInt(query, 10);
        if (!(steps > 0)) return [];
        const row = (count: number, loss: string): Choice => ({
          label: `${count} steps`,
          hint: `loss: ${loss}`,
          detail: "",
          act: () => start(loss, count),
        });
        const [first] = losses;
        const others = STEPS.filter((count) => first !== undefined && count !== steps);
        return [
          ...losses.map((loss) => row(steps, loss)),
          ...others.map((count) => row(count, first ?? "")),
        ];
      },
    };
    this.choose(question, at);
  }

  loss(point: LossPoint): void {
    const { workspace } = this;
    if (point.needs.length) {
      this.set(point.node, null);
      if (point.needs.some((name) => this.feeds[name] !== undefined))
        workspace.say(point.message, true);
      this.askFeed(point.needs, this.again);
      return;
    }
    this.set(point.node, withLoss(workspace.state.panels.get(point.node), point));
    const text = `training ${point.state}: step ${point.progress}, ${lossText(point)}`;
    if (point.state === "running") workspace.say(text, false, true);
    else workspace.say(point.message || text, point.state === "failed");
  }

  private set(node: string, panel: Panel | null): void {
    this.workspace.dispatch({ type: "panel", node, panel });
  }
}

/** The curve of a training with one more point; of a long one the last points are kept. */
export function withLoss(before: Panel | undefined, point: LossPoint): Panel {
  const losses = [...(before?.losses ?? []), point].slice(-MOST_POINTS);
  return { kind: "chart", result: null, losses, isRunning: point.state === "running" };
}

/** Examples of feeds for a placeholder, with what they are. */
export function feedsFor({ dtype, shape }: OutputPort): (readonly [string, string])[] {
  const sizes = (shape ?? []).map((n) => n ?? 1).join(", ");
  const last = shape?.slice(1).join(" ");
  const isFloat = dtype.includes("float");
  const test = "of the 1,500 digits that no training sees";
  const digits: Record<string, readonly (readonly [string, string])[]> = {
    "28 28 1": [
      ["digits.images(step)", "64 handwritten digits, others in each step of a training"],
      ["digits.test_images()", `the images ${test}`],
    ],
    "784": [
      ["digits.rows(step)", "64 handwritten digits as rows, others in each step of a training"],
      ["digits.test_rows()", `the rows ${test}`],
    ],
    "10": [["digits.one_hot(step)", "which digit each image shows, as a row of ten"]],
    "": [
      ["digits.labels(step)", "which digit each image shows"],
      ["digits.test_labels()", `the labels ${test}`],
    ],
  };
  const found = shape && shape.length > 0 ? digits[last ?? "-"] : undefined;
  const fits = found && (isFloat ? last !== "" : dtype.includes("int") && last === "");
  const plain: (readonly [string, string])[] = sizes
    ? [
        [`np.zeros([${sizes}])`, "zeros"],
        [`np.random.rand(${sizes})`, "random numbers from 0 to 1"],
      ]
    : [[isFloat ? "0.5" : dtype === "bool" ? "True" : "1", "a number"]];
  return fits ? [...found, ...plain] : plain;
}

const isTraining = ({ losses }: Panel): boolean => losses[losses.length - 1]?.state === "running";
const isScalar = (shape: readonly (number | null)[] | null | undefined): boolean =>
  shape?.length === 0;
