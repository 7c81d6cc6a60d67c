import { Command } from 'commander';

/** A command that only groups other commands; `otherwise` is the default command. */
export function commandGroup(
  name: string,
  summary: string,
  commands: readonly Command[],
  { otherwise }: { otherwise?: string } = {},
): Command {
  const defaultNote = otherwise === undefined ? '' : `\n\nWithout a command: ${otherwise}.`;
  const group = new Command(name).summary(summary).description(`${summary}.${defaultNote}`);
  for (const command of commands) group.addCommand(command);
  if (otherwise !== undefined) DEFAULTS.set(group, otherwise);
  return group;
}

// Commander's own default commands are not used, because they take a misspelt command name as their operand.
const DEFAULTS = new WeakMap<Command, string>();

export function defaultOf(group: Command): Command | undefined {
  return group.commands.find((each) => each.name() === DEFAULTS.get(group));
}

/** Finds the command that the first arguments name, and the number of these arguments. */
export function commandAt(program: Command, args: readonly string[]): { command: Command; depth: number } {
  let command = program;
  for (const [depth, word] of args.entries()) {
    const next = command.commands.find((each) => each.name() === word);
    if (!next) return { command, depth };
    command = next;
  }
  return { command, depth: args.length };
}

/** Rewrites `help payments list` to `payments list --help`. Unknown names stay, so that the parser rejects them. */
export function withHelp(program: Command, args: readonly string[]): readonly string[] {
  if (args[0] !== 'help') return args;
  const words = args.slice(1);
  const { command, depth } = commandAt(program, words);
  const isUnknown = depth < words.length && command.commands.length > 0;
  return isUnknown ? words : [...words.slice(0, depth), '--help'];
}

/** Adds the default command to arguments that name only a group. */
export function withDefaults(program: Command, args: readonly string[]): string[] {
  const { command, depth } = commandAt(program, args);
  const otherwise = defaultOf(command)?.name();
  const word = args[depth];
  const own = command.createHelp().visibleOptions(command);
  const isOwn = own.some(({ long, short }) => word === long || word === short);
  const isDefaultMeant = word === undefined || (word.startsWith('-') && !isOwn);
  return otherwise !== undefined && isDefaultMeant ? args.toSpliced(depth, 0, otherwise) : [...args];
}

/** The full name of a command: `tillway payments list`. */
export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

/** A command and all commands below it. */
export function commandsIn(command: Command): Command[] {
  return [command, ...command.commands.flatMap(commandsIn)];
}
