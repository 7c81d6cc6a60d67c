import assert from 'node:assert/strict';
import type { Command } from 'commander';
import { createContext } from '../../src/cli/command-context.ts';
import { commandsIn, pathOf, withDefaults } from '../../src/cli/command-group.ts';
import { createProgram } from '../../src/cli/program.ts';
import { createTerminal } from './terminal.ts';

/** Local commands for tests that do not run them. */
export const LOCAL = {
  serve: () => Promise.resolve(),
  database: () => Promise.reject(new Error('there is none')),
  providers: () => Promise.reject(new Error('there are none')),
};
/** Creates the command tree of `tillway`, with the local commands of {@link LOCAL}. */
export function commandTree(): Command {
  return createProgram(createContext(createTerminal().terminal), LOCAL);
}

/** Words of a command line as a shell splits them, without variable assignments before the command. */
function wordsOf(line: string): string[] {
  const words = line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const plain = words.map((word) => word.replaceAll(/["']/g, ''));
  return plain.slice(plain.findIndex((word) => !/^[A-Z_]+=/.test(word)));
}

/** Path of the command that a command line runs. Throws if the parser rejects the line. */
export function parsedAs(line: string): string {
  const [name, ...args] = wordsOf(line.split(/ [|<] /)[0]!);
  assert.equal(name, 'tillway');
  const program = commandTree();
  let ran = '';
  for (const command of commandsIn(program)) {
    command.exitOverride().configureOutput({ writeErr: () => undefined, outputError: () => undefined });
    if (command.commands.length === 0) command.action(() => void (ran = pathOf(command)));
  }
  program.parse(withDefaults(program, args), { from: 'user' });
  return ran;
}
