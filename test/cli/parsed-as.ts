import assert from 'node:assert/strict';
import type { Command } from 'commander';
import { createContext } from '../../src/cli/command-context.ts';
import { commandsIn, pathOf, withDefaults } from '../../src/cli/command-group.ts';
import { createProgram } from '../../src/cli/program.ts';
import { createTerminal } from './terminal.ts';

/** Local commands that must not run. */
export const LOCAL = {
  serve: () => Promise.resolve(),
  database: () => Promise.reject(new Error('there is none')),
};
export function tree(): Command {
  return createProgram(createContext(createTerminal().terminal), LOCAL);
}

/** The words of a command line as a shell splits them, without leading variables. */
function wordsOf(line: string): string[] {
  const words = line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const plain = words.map((word) => word.replaceAll(/["']/g, ''));
  return plain.slice(plain.findIndex((word) => !/^[A-Z_]+=/.test(word)));
}

/** The command of a line. Throws unless the parser accepts the whole line. */
export function parsedAs(line: string): string {
  const [name, ...args] = wordsOf(line.split(/ [|<] /)[0]!);
  assert.equal(name, 'tillway');
  const program = tree();
  let ran = '';
  for (const command of commandsIn(program)) {
    command.exitOverride().configureOutput({ writeErr: () => undefined, outputError: () => undefined });
    if (command.commands.length === 0) command.action(() => void (ran = pathOf(command)));
  }
  program.parse(withDefaults(program, args), { from: 'user' });
  return ran;
}
