import type { Command } from 'commander';
import type { Tillway } from '../../sdk/src/index.ts';
import {
  type CommandContext,
  type CommandDescription,
  type Paint,
  describedCommand,
  ownOptions,
} from './command-context.ts';

/** A command that asks the service one question and prints the answer. */
export interface ServiceCommand<Answer, Options> extends CommandDescription {
  ask(client: Tillway, options: Options, ...operands: string[]): PromiseLike<Answer>;
  /** The answer as text; with --json the command prints the answer itself. */
  show(answer: Answer, paint: Paint, options: Options): string;
  /** True if the program exits with 1 after this answer. */
  isFailure?(answer: Answer): boolean;
}

/** `usage` is the name with its operands: `fees <amount>`. */
export function serviceCommand<Answer, Options = unknown>(
  context: CommandContext,
  usage: string,
  { ask, show, isFailure, ...description }: ServiceCommand<Answer, Options>,
): Command {
  const command = describedCommand(usage, description);
  return command.action(async () => {
    const options = ownOptions(command) as Options;
    const answer = await ask(context.client(command), options, ...(command.processedArgs as string[]));
    context.tell(command, answer, (each, paint) => show(each, paint, options));
    if (isFailure?.(answer)) context.fail();
  });
}
