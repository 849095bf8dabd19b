// The JupyterLab extension: its plugins, one per file.
import commands from "./commands";

export default [commands];
