// The JupyterLab extension: its plugins, one per file.
import builder from "./builder";
import commands from "./commands";
import documents from "./documents";
import help from "./help";
import status from "./status";

export default [documents, builder, commands, help, status];
